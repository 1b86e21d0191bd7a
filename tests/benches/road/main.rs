//! How fast intake is, beside what it could be at most: `cargo bench --bench road`.
//!
//! Everything is in this one process and measured in one run: node, modules, host, guard, sinks, and the yardsticks of
//! each. So the ratios mean something also on a machine that is busy with other things; the rates alone do not.
//! `--only webhook` and the like measure a part; `cargo bench --bench road -- --help` says what else there is. Each
//! option is also an environment variable, as in `EDDY_BENCH_COUNT=1000000`.

#![expect(clippy::print_stdout, reason = "what was measured is the result")]

mod bare;
#[path = "../../modules/chain.rs"]
mod chain;
mod downstream;
mod engine;
mod intake;
mod load;
mod measure;
mod stage;

use clap::Parser;
use eddy::modules::VALIDATE_WASM;

use downstream::Downstream;
use measure::Table;
use stage::Stage;

/// Measures intake and its yardsticks, and prints one table.
#[derive(Debug, Parser)]
struct Options {
    /// Triggers through everything that goes to or through a log.
    #[arg(long, env = "EDDY_BENCH_COUNT", default_value_t = 300_000)]
    count: usize,
    /// Requests of the ping-pong, and triggers to the webhook.
    #[arg(long, env = "EDDY_BENCH_REQUESTS", default_value_t = 400_000)]
    requests: usize,
    /// Partitions of the source.
    #[arg(long, env = "EDDY_BENCH_PARTITIONS", default_value_t = 2)]
    partitions: u32,
    /// A trigger's size; what is shorter is filled up.
    #[arg(long, env = "EDDY_BENCH_BYTES", default_value_t = 250)]
    bytes: usize,
    /// What of a definition is to be other than the default, as in `sink.in_flight_max=64`.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',', env = "EDDY_BENCH_ONLY")]
    only: Vec<Part>,
    /// What cargo says to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Modules alone, in the engine of an SPU.
    Modules,
    /// Consumption by Fluvio's stock client, through modules.
    Bare,
    /// Intake to the topic sink.
    Topic,
    /// An HTTP client and server that do nothing else.
    PingPong,
    /// Intake to the webhook sink.
    Webhook,
    /// 1.5 GB through one judged stream. Only when asked for.
    Volume,
}

impl Options {
    fn has(&self, part: Part) -> bool {
        if self.only.is_empty() { part != Part::Volume } else { self.only.contains(&part) }
    }
}

/// The program's own, so that what is measured is what runs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() {
    let options = Options::parse();
    // Nothing is to be warned about; what is all the same belongs beside the numbers.
    tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).with_writer(std::io::stderr).init();
    rustls::crypto::aws_lc_rs::default_provider().install_default().expect("nobody has installed one before");
    let mut table = Table::new(format!(
        "{} triggers of {} bytes, {} partitions, {}",
        options.count,
        options.bytes,
        options.partitions,
        measure::machine()
    ));
    let copy = eddy_guests::copy();
    if options.has(Part::Modules) {
        modules(copy, &mut table);
    }
    let stage = Stage::start().await;
    if options.has(Part::Bare) || options.has(Part::Topic) {
        to_topic(&options, &stage, copy, &mut table).await;
    }
    if options.has(Part::PingPong) || options.has(Part::Webhook) {
        to_webhook(&options, &stage, &mut table).await;
    }
    if options.has(Part::Volume) {
        volume(&options, &stage, &mut table).await;
    }
    println!("{table}");
    stage.stop().await;
}

fn modules(copy: &[u8], table: &mut Table) {
    let copied = engine::measure("in the engine: a stock macro module that copies", copy);
    let judged = engine::measure("in the engine: validate", VALIDATE_WASM);
    table.yardstick(&copied);
    table.beside(&judged, &copied, "under 3 µs each");
}

async fn to_topic(options: &Options, stage: &Stage, copy: &[u8], table: &mut Table) {
    let topology = stage.topology(options, "to-topic", "topic", "to-topic-delivered").await;
    let produced = stage.feed(&topology, &load::triggers(options.count, options.bytes)).await;
    table.yardstick(&produced);
    let mut yardstick = None;
    if options.has(Part::Bare) {
        let what = "stock client, a stock macro module that copies";
        let copied = bare::stock_client(what, stage, &topology, copy).await;
        let judged = bare::stock_client("stock client, validate", stage, &topology, VALIDATE_WASM).await;
        let read = bare::judged_reader("eddy's reader, validate", stage, &topology).await;
        table.yardstick(&copied);
        table.beside(&judged, &copied, "");
        table.beside(&read, &copied, "");
        yardstick = Some(copied);
    }
    if options.has(Part::Topic) {
        let delivered = intake::measure("intake through validate to the topic sink", stage, topology).await;
        table.beside(&delivered, yardstick.as_ref().unwrap_or(&produced), "60,000/s");
    }
}

async fn to_webhook(options: &Options, stage: &Stage, table: &mut Table) {
    let downstream = Downstream::start().await;
    let topology = stage.topology(options, "to-webhook", "webhook", &downstream.url()).await;
    let triggers = load::triggers(options.requests, options.bytes);
    let in_flight = topology.in_flight_max() * topology.partitions() as usize;
    let mut yardstick = None;
    if options.has(Part::PingPong) {
        let what = format!("bare ping-pong, {in_flight} requests at a time");
        let answered = downstream.ping_pong(what, in_flight, triggers.clone().into()).await;
        table.yardstick(&answered);
        yardstick = Some(answered);
    }
    if options.has(Part::Webhook) {
        let produced = stage.feed(&topology, &triggers).await;
        let delivered = intake::measure("intake through validate to the webhook sink", stage, topology).await;
        table.beside(&delivered, yardstick.as_ref().unwrap_or(&produced), "half the ping-pong");
    }
}

async fn volume(options: &Options, stage: &Stage, table: &mut Table) {
    const VOLUME_BYTES: usize = 1_500_000_000;

    let topology = stage.topology(options, "volume", "stdout", "").await;
    let triggers = load::triggers(options.count, options.bytes);
    for _ in 0..VOLUME_BYTES.div_ceil(options.count * options.bytes) {
        stage.feed(&topology, &triggers).await;
    }
    let read = bare::judged_reader("1.5 GB through one judged stream each", stage, &topology).await;
    table.yardstick(&read);
}

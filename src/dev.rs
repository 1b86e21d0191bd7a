//! `eddy dev`: node, topics, modules, host and downstream in one process.
//!
//! It puts together what `eddy apply`, `eddy run` and a cluster are apart, and adds an input, a demo downstream when no
//! sink is configured, and an audit at the end. Everything else is exactly what runs against a cluster.

pub mod demo;
mod folder;
mod progress;
mod report;
pub mod resolved;

use std::{io::BufRead, path::PathBuf, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use eddy_embedded::Node;
use eddy_topology::{
    definition::{Definition, SinkKind},
    time::Span,
    topology::Topology,
};
use tokio::task::JoinHandle;

pub use self::report::Report;
use self::{demo::Demo, folder::Folder, resolved::resolved};
use crate::{
    audit,
    broker::{Cluster, Target, admin},
    deploy,
    feed::Counts as Fed,
    feeder,
    guard::{EmbeddedGuard, Guard},
    host::Host,
    output::{Hint, Printer},
    signals, sinks,
};

/// How often the progress line is drawn.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// What a run is asked for.
pub struct Options {
    pub definition: Definition,
    pub data_dir: Option<PathBuf>,
    pub input: Option<Box<dyn BufRead + Send>>,
    pub until_resolved: bool,
}

/// Everything that runs.
struct Dev {
    topology: Arc<Topology>,
    cluster: Cluster,
    guard: Arc<EmbeddedGuard>,
    host: Host,
    demo: Option<Demo>,
    node: Node,
    folder: Folder,
}

/// How a run ended.
enum End {
    Resolved(Fed),
    Told,
}

/// Runs until told to stop, or until everything is resolved; then there is a report.
///
/// # Errors
/// When something cannot be started, the input cannot be fed, or the host fails.
pub async fn run(mut options: Options, printer: Printer) -> anyhow::Result<Option<Report>> {
    let input = options.input.take();
    let until_resolved = options.until_resolved;
    let mut dev = Dev::start(options, printer).await?;
    let end = dev.watch(input, until_resolved, printer).await?;
    let report = match end {
        End::Resolved(fed) => Some(dev.report(fed).await?),
        End::Told => None,
    };
    dev.stop().await?;
    Ok(report)
}

impl Dev {
    async fn start(options: Options, printer: Printer) -> anyhow::Result<Self> {
        let folder = Folder::open(options.data_dir.as_deref())?;
        let (demo, definition) = with_demo(options.definition).await?;
        let topology = Arc::new(Topology::try_new(&definition)?);
        let node =
            Node::start(eddy_embedded::Config::new(folder.node())).await.context("cannot start the embedded node");
        let node = node.hint("one `eddy dev` at a time runs on a data folder")?;
        let cluster = Cluster::connect(&Target::Address(node.address().to_string())).await?;
        admin::apply(&cluster, &deploy::plan(&topology)).await?;
        let guard = Arc::new(EmbeddedGuard::open(&folder.guard(), &topology.guard().into())?);
        let sink = sinks::open(&topology, &cluster).await?;
        let host =
            Host::start(Arc::clone(&topology), cluster.clone(), Arc::clone(&guard) as Arc<dyn Guard>, sink).await?;
        let dev = Self { topology, cluster, guard, host, demo, node, folder };
        dev.introduce(printer);
        Ok(dev)
    }

    fn introduce(&self, printer: Printer) {
        let names = self.topology.names();
        printer.say(format_args!("node        {} (Fluvio's protocol; --cluster takes it)", self.node.address()));
        printer.say(format_args!("source      {} × {} partitions", names.source, self.topology.partitions()));
        match &self.demo {
            Some(demo) => {
                printer.say(format_args!("downstream  {} (demo: most 200, some 503, 422 or slow)", demo.url()))
            }
            None => printer.say(format_args!("downstream  {}", self.topology.sink().name)),
        }
        printer.say(format_args!("data        {}", self.folder.path().display()));
    }

    /// Feeds the input and shows how far things are, until there is a reason to end.
    async fn watch(
        &mut self,
        input: Option<Box<dyn BufRead + Send>>,
        until_resolved: bool,
        printer: Printer,
    ) -> anyhow::Result<End> {
        let monitor = self.host.monitor();
        let (cluster, feeding) = (self.cluster.clone(), input.map(|input| self.feed(input)));
        let work = async {
            let fed = match feeding {
                Some(feeding) => feeding.await.context("feeding died")?.context("cannot feed the input")?,
                None => Fed::default(),
            };
            if until_resolved {
                let end = resolved(&cluster, &monitor).await?;
                ensure!(
                    end == resolved::End::Resolved,
                    "the downstream asked to stop (410); what it did not take waits"
                );
                return Ok(End::Resolved(fed));
            }
            std::future::pending().await
        };
        let drawing = async {
            let shown = printer.progress();
            loop {
                shown.show(progress::line(&monitor));
                tokio::time::sleep(PROGRESS_EVERY).await;
            }
        };
        tokio::select! {
            end = work => end,
            error = self.host.failed() => Err(error.into()),
            told = signals::told_to_stop() => told.map(|()| End::Told).context("cannot wait for signals"),
            never = drawing => never,
        }
    }

    fn feed(&self, input: Box<dyn BufRead + Send>) -> JoinHandle<Result<Fed, feeder::Error>> {
        let (cluster, source) = (self.cluster.clone(), self.topology.names().source.clone());
        let progress = self.folder.feeding();
        tokio::spawn(async move { feeder::feed(&cluster, source.as_str(), input, Some(&progress)).await })
    }

    async fn report(&self, fed: Fed) -> anyhow::Result<Report> {
        let progress = self.host.monitor().progress();
        let audit = audit::audit(self.host.topology(), &self.cluster, &*self.guard, &progress).await?;
        let tiers = self.tier_records().await?;
        Ok(Report::new(audit, tiers, fed, &self.host.monitor().counts(), self.demo.as_ref().map(Demo::seen)))
    }

    /// How many records each tier's topic has ever held: offsets are not used twice.
    async fn tier_records(&self) -> anyhow::Result<Vec<(Span, u64)>> {
        let mut records = Vec::new();
        let topology = self.host.topology();
        for (topic, delay) in topology.names().tiers.iter().zip(topology.schedule().tiers()) {
            let mut ends = 0;
            for partition in 0..self.cluster.partitions(topic.as_str()).await?.unwrap_or(0) {
                ends += self.cluster.offsets(topic.as_str(), partition).await?.end;
            }
            records.push((*delay, u64::try_from(ends).unwrap_or(0)));
        }
        Ok(records)
    }

    async fn stop(self) -> anyhow::Result<()> {
        self.host.drain().await?;
        self.node.stop().await;
        Ok(())
    }
}

/// Starts the demo downstream when the definition names a webhook and no address.
async fn with_demo(mut definition: Definition) -> anyhow::Result<(Option<Demo>, Definition)> {
    if definition.sink.kind != SinkKind::Webhook.as_str() || definition.sink.url.is_some() {
        return Ok((None, definition));
    }
    let demo = Demo::start().await.context("the demo downstream").hint("name a downstream with --set sink.url=…")?;
    definition.sink.url = Some(demo.url());
    Ok((Some(demo), definition))
}

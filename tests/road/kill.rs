//! kill -9 at any moment: nothing is lost, and an effect is sent again only when it was in flight.
//!
//! The program is killed again and again while it feeds, judges, delivers, retries and dead-letters one input, each time
//! started anew on the same data folder. The downstream lives in the test and remembers every request.
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::downstream::{Downstream, Received, contains};

const KILLS: usize = 20;
const TRIGGERS: usize = 4000;

/// Unsettled records per road, which bounds what is in flight.
const WINDOW: usize = 200;

/// Intake and three tiers deliver.
const DELIVERING_ROADS: usize = 4;

/// Triggers of this device are refused twice and then taken; those of the other one are refused for ever.
const RECOVERING: &str = "recovering";
const UNAVAILABLE: &str = "unavailable";

#[tokio::test(flavor = "multi_thread")]
async fn after_twenty_kills_nothing_is_lost_and_only_what_was_in_flight_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("triggers.ndjson");
    std::fs::write(&input, input_lines()).unwrap();
    let downstream = Downstream::start(scripted()).await;
    let eddy = Eddy { folder: folder.path(), input: &input, url: downstream.url() };

    let mut lives = Vec::new();
    for kill in 0..KILLS {
        let before = downstream.requests();
        let mut life = eddy.start();
        wait_for_requests(&downstream, before + 40 + 37 * (kill % 5), &mut life, &eddy).await;
        drop(life);
        lives.push(downstream.requests());
    }
    let status = eddy.start().0.wait().unwrap();

    assert!(status.success(), "the last run failed; what eddy said:\n{}", eddy.said());
    let report: Value = serde_json::from_slice(&std::fs::read(eddy.report()).unwrap()).unwrap();
    assert_eq!(report["conserved"], true, "{report:#}");
    assert_eq!(report["in"], TRIGGERS, "an input that is fed again after a kill is not fed twice: {report:#}");
    let received = downstream.received();
    assert_every_effect_took_place(&received);
    assert_repeated_only_what_was_in_flight(&received, &lives);
}

/// Triggers of 50 devices; a few of the two special devices, and a line that is no trigger now and then.
fn input_lines() -> String {
    let start_ns = 1_795_000_000_000_000_000_u64;
    let mut lines = String::new();
    for n in 0..TRIGGERS {
        if n % 500 == 499 {
            lines.push_str(&format!("no trigger {n}\n"));
            continue;
        }
        let device = match n % 400 {
            100 => RECOVERING.to_owned(),
            300 => UNAVAILABLE.to_owned(),
            n => format!("device-{}", n % 50),
        };
        let at_ns = start_ns + n as u64 * 1_000_000_000;
        lines.push_str(&format!(
            "{{\"device_id\":\"{device}\",\"fence_id\":\"fence-{}\",\"transition\":\"ENTER\",\"event_time_ns\":{at_ns},\"lat\":52.5,\"lon\":13.4}}\n",
            n % 7
        ));
    }
    lines
}

/// The downstream's answers: by device, and for the recovering one by how often it was asked.
fn scripted() -> impl Fn(&[u8]) -> u16 + Send + Sync + 'static {
    let tries = std::sync::Mutex::new(BTreeMap::<Vec<u8>, u32>::new());
    move |body| {
        let is = |device: &str| contains(body, &format!("\"{device}\""));
        if is(UNAVAILABLE) {
            return 503;
        }
        if !is(RECOVERING) {
            return 200;
        }
        let mut tries = tries.lock().unwrap();
        let tries = tries.entry(body.to_vec()).or_default();
        *tries += 1;
        if *tries > 2 { 200 } else { 503 }
    }
}

struct Eddy<'a> {
    folder: &'a Path,
    input: &'a Path,
    url: String,
}

impl Eddy<'_> {
    fn report(&self) -> std::path::PathBuf {
        self.folder.join("report.json")
    }

    /// The end of what all lives said.
    fn said(&self) -> String {
        let said = std::fs::read_to_string(self.folder.join("said")).unwrap();
        said.lines().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn start(&self) -> Life {
        let said = File::options().create(true).append(true).open(self.folder.join("said")).unwrap();
        let set = |command: &mut Command, path: &str, value: &str| {
            command.arg("--set").arg(format!("{path}={value}"));
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_eddy"));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("EDDY_")) {
            command.env_remove(name);
        }
        command.arg("dev").arg("--until-resolved").arg("--input").arg(self.input);
        command.arg("--data-dir").arg(self.folder.join("data")).arg("--report").arg(self.report());
        set(&mut command, "sink.url", &self.url);
        set(&mut command, "sink.in_flight_max", "16");
        set(&mut command, "retry.tiers", "100ms,200ms,400ms");
        set(&mut command, "limits.window_max", &WINDOW.to_string());
        command.env("EDDY_LOG", "info,fluvio=warn,fluvio_socket=warn");
        Life(command.stdout(Stdio::null()).stderr(said).spawn().unwrap())
    }
}

/// A running eddy. Dropping it is kill -9.
struct Life(Child);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A kill comes after so many requests, so that it meets every phase whatever the machine's speed.
async fn wait_for_requests(downstream: &Downstream, count: usize, life: &mut Life, eddy: &Eddy<'_>) {
    let started = Instant::now();
    while downstream.requests() < count {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "too few requests in a minute; eddy said:\n{}",
            eddy.said()
        );
        assert_eq!(life.0.try_wait().unwrap(), None, "eddy ended before it was killed; it said:\n{}", eddy.said());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn assert_every_effect_took_place(received: &[Received]) {
    let taken: BTreeSet<&[u8]> = received.iter().filter(|request| request.status == 200).map(|r| &*r.body).collect();
    let lines = input_lines();
    let wanted = lines.lines().filter(|line| !line.starts_with("no trigger") && !line.contains(UNAVAILABLE));
    let missing: Vec<&str> = wanted.filter(|line| !taken.contains(line.as_bytes())).collect();
    assert!(missing.is_empty(), "{} triggers never took effect, the first: {:?}", missing.len(), missing.first());
}

/// `lives` says after how many requests each life of the program ended. A trigger that was taken in one life and comes
/// again in a later one was in flight at a kill: it is among the last of its life, as many as the windows hold.
fn assert_repeated_only_what_was_in_flight(received: &[Received], lives: &[usize]) {
    let life_of = |index: usize| lives.partition_point(|end| *end <= index);
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, request) in received.iter().enumerate() {
        let Some(before) = taken.get(request.idempotency_key.as_str()).copied() else {
            if request.status == 200 {
                taken.insert(&request.idempotency_key, index);
            }
            continue;
        };
        let life = life_of(before);
        assert!(life < life_of(index), "an effect was sent twice within one life: {request:?}");
        let after = lives[life] - before;
        assert!(after <= WINDOW * DELIVERING_ROADS, "an effect was sent again {after} requests after it was taken");
        taken.insert(&request.idempotency_key, index);
    }
}

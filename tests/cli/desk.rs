//! The operator's desk against a running `eddy dev`: what is read, what is decided, and what stands in the logs afterwards.

mod deciding;
mod parked;
mod reading;
mod repairing;

use bytes::Bytes;
use eddy::{
    broker::{Cluster, Target, Writer},
    letters,
};
use eddy_contract::{
    Class, Code, Envelope, Failure, SideEffect,
    envelope::{Attempts, Origin},
};
use eddy_topology::TopicName;

use crate::{places::Dev, stderr, stdout};

const DLQ: &str = "geofence-triggers-dlq";
const PARKED: &str = "geofence-triggers-parked";

/// 2026-11-30T12:00:00Z.
const NOON_MS: i64 = 1_796_040_000_000;

/// A trigger that `validate` has nothing against.
const GOOD: &str = r#"{"device_id":"van-17","fence_id":"depot","transition":"ENTER","event_time_ns":1796040000000000000,"lat":52.50,"lon":13.4}"#;

/// The node of an `eddy dev` whose source has two partitions, and a connection of the test's own.
struct Node {
    dev: Dev,
    cluster: Cluster,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

/// A record of a topic of envelopes.
struct Logged {
    partition: u32,
    key: Option<Bytes>,
    envelope: Envelope,
}

impl Node {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dev = Dev::start_with(folder.path(), &["--set", "source.partitions=2"]);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let cluster = runtime.block_on(Cluster::connect(&Target::Address(dev.address.clone()))).unwrap();
        Self { dev, cluster, runtime, folder }
    }

    /// Writes letters to their partitions, each with its device as the key.
    fn put(&self, topic: &str, letters: &[Envelope]) {
        for letter in letters {
            let key = letter.device.clone().map(Bytes::from);
            self.put_with_key(topic, key, letter);
        }
    }

    fn put_with_key(&self, topic: &str, key: Option<Bytes>, letter: &Envelope) {
        let written = async {
            let writer = Writer::new(&self.cluster);
            writer.write(topic, letter.origin.partition, key, letter.encode().into()).await
        };
        self.runtime.block_on(written).unwrap();
    }

    fn log(&self, topic: &str) -> Vec<Logged> {
        let topic = TopicName::try_new(topic).unwrap();
        let mut log = Vec::new();
        let scan = letters::scan(
            &self.cluster,
            &topic,
            |_| 0,
            |partition, record| {
                let envelope = Envelope::decode(&record.value).unwrap();
                log.push(Logged { partition, key: record.key, envelope });
            },
        );
        self.runtime.block_on(scan).unwrap();
        log
    }

    /// The output of a command that succeeds: what is data, and what is said.
    fn ask(&self, args: &[&str]) -> (String, String) {
        let output = self.dev.ask(args);
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        (stdout(&output), stderr(&output))
    }

    /// The ids of the open letters.
    fn open(&self, of: &str) -> Vec<String> {
        ids(&self.ask(&[of, "list", "--json"]).0)
    }
}

fn ids(json_lines: &str) -> Vec<String> {
    json_lines.lines().map(|line| Envelope::decode(line.as_bytes()).unwrap().id.to_string()).collect()
}

/// A dead letter of `geofence-triggers/<offset % 2>/<offset>`, dead since so many minutes after noon, that the downstream
/// refused.
fn refused(offset: i64) -> Envelope {
    let partition = u32::try_from(offset % 2).unwrap();
    let at_ms = NOON_MS + offset * 60_000;
    let origin = Origin { topic: "geofence-triggers".into(), partition, offset, timestamp_ms: Some(at_ms), part: 0 };
    Envelope {
        reason: Some("terminal:rejected".into()),
        quarantined_at_ns: Some(at_ms * 1_000_000),
        device: Some("van-17".into()),
        fence: Some("depot".into()),
        attempts: Attempts { delivery: 1, replay: 0 },
        failures: vec![failure(at_ms, Class::Terminal, Code::Rejected, 422)],
        ..Envelope::new(origin, GOOD.as_bytes().to_vec())
    }
}

/// As [`refused`], but the downstream was not there.
fn exhausted(offset: i64) -> Envelope {
    let letter = refused(offset);
    let at_ms = letter.failures[0].at;
    Envelope {
        reason: Some("exhausted:unavailable".into()),
        failures: vec![failure(at_ms, Class::Transient, Code::Unavailable, 503)],
        ..letter
    }
}

fn failure(at: i64, class: Class, code: Code, status: u16) -> Failure {
    Failure {
        at,
        stage: "deliver".into(),
        class: Some(class),
        code,
        signature: eddy_contract::signature("deliver", Some(class), Some(status), "no"),
        status: Some(status),
        message: "no".into(),
        truncated: false,
        message_sha256: None,
        retry_after_ms: None,
        effect: SideEffect::Refused,
        location: None,
    }
}

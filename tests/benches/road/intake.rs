//! The road itself: a host reads what the source has, through `validate`, and delivers it.
//!
//! The clock starts when a tenth is delivered, so opening the streams, which compiles the modules, is left out as it is with
//! the yardsticks. It ends when every position has passed the last trigger: delivered, marked,
//! and the marks on disk.

use std::{sync::Arc, time::Duration};

use eddy::{
    guard::{EmbeddedGuard, Guard},
    host::{Host, Monitor},
    sinks,
};
use eddy_topology::topology::Topology;

use super::{
    measure::{Measured, Stopwatch},
    stage::Stage,
};

/// How often the host is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

pub(crate) async fn measure(what: &str, stage: &Stage, topology: Arc<Topology>) -> Measured {
    let ends = stage.ends(&topology).await;
    let guard_dir = stage.dir.path().join(topology.names().source.as_str());
    let guard = EmbeddedGuard::open(&guard_dir, &topology.guard().into()).expect("a guard in a folder of its own");
    let sink = sinks::open(&topology, &stage.cluster).await.expect("the sink's target is there");
    let host = Host::start(Arc::clone(&topology), stage.cluster.clone(), Arc::new(guard) as Arc<dyn Guard>, sink);
    let host = host.await.expect("topics and modules are there");
    let monitor = host.monitor();

    let warm = ends.iter().sum::<i64>() as u64 / 10;
    until(|| monitor.counts().delivered > warm).await;
    let watch = Stopwatch::start();
    let before = monitor.counts().delivered;
    until(|| all_passed(&monitor, &topology, &ends)).await;
    let delivered = monitor.counts().delivered;
    let measured = watch.stop(what, usize::try_from(delivered - before).expect("it only grows"));

    assert_eq!(delivered, ends.iter().sum::<i64>() as u64, "every trigger is delivered, none twice");
    host.drain().await.expect("nothing is in flight");
    measured
}

fn all_passed(monitor: &Monitor, topology: &Topology, ends: &[i64]) -> bool {
    let source = &topology.names().source;
    let progress = monitor.progress();
    let mut intake = progress.iter().filter(|road| road.topic == *source);
    intake.all(|road| road.progress.position >= ends[road.partition as usize])
}

async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

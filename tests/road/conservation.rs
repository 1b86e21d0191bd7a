//! Every record of the source is in exactly one place.

use std::{collections::BTreeMap, sync::Mutex};

use crate::{
    downstream::contains,
    harness::{Road, trigger},
};

/// 503 twice and then 200 for `recovering`, 503 for ever for `hopeless`, 422 for `refused`, 200 for the others.
fn mixed() -> impl Fn(&[u8]) -> u16 + Send + Sync + 'static {
    let tries = Mutex::new(BTreeMap::<Vec<u8>, u32>::new());
    move |body| {
        if contains(body, "hopeless") {
            return 503;
        }
        if contains(body, "refused") {
            return 422;
        }
        if !contains(body, "recovering") {
            return 200;
        }
        let mut tries = tries.lock().unwrap();
        let tries = tries.entry(body.to_vec()).or_default();
        *tries += 1;
        if *tries > 2 { 200 } else { 503 }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_mixed_run_over_three_partitions_every_record_is_accounted_for_in_exactly_one_place() {
    let mut road = Road::start("source.partitions = 3", mixed()).await;
    let kinds = (0..900_u32).map(|number| match number % 100 {
        17 => "recovering",
        34 => "hopeless",
        51 => "refused",
        68 => "bad",
        85 => "twin",
        _ => "healthy",
    });
    let mut records = Vec::new();
    for (number, kind) in kinds.enumerate() {
        let partition = u32::try_from(number % 3).unwrap();
        let record = match kind {
            "bad" => (None, "no trigger".into()),
            kind => trigger(&format!("{kind}-{}", number % 60)),
        };
        records.extend((kind == "twin").then(|| (partition, record.clone())));
        records.push((partition, record));
    }
    let produced = records.len() as u64;

    road.produce(records).await;
    road.until_resolved().await;

    let report = road.audit().await;
    assert!(report.conserved, "{report:?}");
    assert_eq!(report.records, produced);
    assert_eq!((report.delivered, report.dead_lettered), (produced - 27, 27));
    assert_eq!(
        report.codes,
        [("invalid_json", 9), ("rejected", 9), ("unavailable", 9)].map(|(k, n)| (k.into(), n)).into()
    );
    assert_eq!((report.parked, report.in_flight, report.in_two_places_count), (0, 0, 0));
    assert_eq!(report.on_tiers.values().sum::<u64>(), 0);
    assert_eq!(road.counts().suppressed, 9);
    road.assert_taken_once_each(900 - 27);
    road.finish().await;
}

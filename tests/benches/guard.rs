//! What the guard costs: one claim and one mark per effect, as a host drives it, and the memory of a remembered key.
//!
//! `cargo bench --bench guard`

#![expect(clippy::print_stdout, reason = "a bench prints what it measured")]

use std::time::{Duration, Instant};

use eddy::guard::{Claimant, EmbeddedGuard, Guard, Settings};
use eddy_topology::effect::{Claim, GuardedEffect, Horizon};
use futures_util::FutureExt;

const EFFECTS: u64 = 1_000_000;
const BATCH: u64 = 64;
const CLAIMANT: Claimant = Claimant(1);

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let guard = EmbeddedGuard::open(folder.path(), &Settings::default()).expect("a guard");

    report("empty durable store", || drive(&guard, 0, Horizon::Recent));
    let resident_bytes = resident_bytes();
    mark_durable(&guard, 200_000);
    report("200,000 durable effects", || drive(&guard, EFFECTS, Horizon::Recent));
    println!("resident after {EFFECTS} recent effects: {resident_bytes} bytes");
}

/// Claims and marks every effect in batches, then waits until all is stored.
fn drive(guard: &EmbeddedGuard, first: u64, horizon: Horizon) {
    let mut last = 0;
    for batch in (first..first + EFFECTS).step_by(BATCH as usize) {
        let effects: Vec<GuardedEffect> = (batch..batch + BATCH).map(effect).collect();
        let claims = guard.claim(CLAIMANT, &effects).now_or_never().expect("the embedded guard answers at once");
        assert!(claims.iter().all(|claim| *claim == Claim::Granted));
        last = effects.iter().fold(last, |_, effect| guard.mark(effect, horizon));
    }
    wait_until_stored(guard, last);
}

fn mark_durable(guard: &EmbeddedGuard, count: u64) {
    let last = (0..count).fold(0, |_, number| guard.mark(&effect(u64::MAX - number), Horizon::Durable));
    wait_until_stored(guard, last);
}

fn wait_until_stored(guard: &EmbeddedGuard, sequence: u64) {
    guard.hurry();
    while guard.progress().borrow().answer(sequence).is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn effect(number: u64) -> GuardedEffect {
    let mut payload_hash = [0; 16];
    payload_hash[..8].copy_from_slice(&number.to_be_bytes());
    GuardedEffect {
        source: "geofence-triggers".into(),
        sink: "downstream".into(),
        idempotency_key: format!("{number:064x}").into(),
        payload_hash,
    }
}

fn report(what: &str, work: impl FnOnce()) {
    let (started, cpu_before_ns) = (Instant::now(), thread_cpu_ns());
    work();
    let rate = EFFECTS as f64 / started.elapsed().as_secs_f64();
    let cpu_ns = (thread_cpu_ns() - cpu_before_ns) / EFFECTS;
    println!(
        "{what}: {rate:.0} effects/s; {cpu_ns} ns of the caller's CPU per claim and mark, making the effect included"
    );
}

/// What this thread has used; 0 where the system does not say.
fn thread_cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// What this process holds in memory; 0 where the system does not say.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_BYTES
}

//! What the gate rules, one call at a time.

use eddy_contract::{Code, SideEffect};

use super::*;
use crate::Definition;

const NOW: Timestamp = Timestamp(1_000_000);
const NO_PATIENCE: Span = Span::from_ms(0);

fn refusal(code: Code) -> Refusal {
    let message = String::new();
    Refusal { code, status: None, retry_after_ms: None, message, effect: SideEffect::None, location: None }
}

fn fail(gate: &mut Gate, pass: Pass, code: Code, now: Timestamp) -> Ruling {
    gate.failed(FailedTry { pass, refusal: &refusal(code), first_failed_at: None, beyond_tiers: false }, now)
}

/// A record that first failed at `first_failed_at` fails again.
fn fail_again(gate: &mut Gate, pass: Pass, first_failed_at: Timestamp) -> Ruling {
    let refusal = refusal(Code::Unavailable);
    let first_failed_at = Some(first_failed_at);
    gate.failed(FailedTry { pass, refusal: &refusal, first_failed_at, beyond_tiers: false }, NOW)
}

fn tripped() -> Gate {
    let mut gate = Gate::new(&Definition::default().sink);
    fail(&mut gate, Pass::Free, Code::Unauthorized, NOW);
    gate
}

#[test]
fn one_probe_goes_out_at_a_time() {
    let mut gate = tripped();
    let probe_at = gate.wake_at().unwrap();

    assert_eq!(gate.admit(NO_PATIENCE, probe_at.plus_ms(-1)), None);
    assert_eq!(gate.admit(NO_PATIENCE, probe_at), Some(Pass::Probe));
    assert_eq!(gate.admit(NO_PATIENCE, probe_at), None);
}

#[test]
fn a_probe_that_was_not_used_goes_to_the_next_who_asks() {
    let mut gate = tripped();
    let probe_at = gate.wake_at().unwrap();
    let pass = gate.admit(NO_PATIENCE, probe_at).unwrap();
    let epoch = gate.epoch();

    gate.give_back(pass, probe_at);

    assert_ne!(gate.epoch(), epoch, "those who wait look again");
    assert_eq!(gate.admit(NO_PATIENCE, probe_at), Some(Pass::Probe));
}

#[test]
fn an_engine_that_went_away_with_the_probe_does_not_shut_the_gate_for_ever() {
    let mut gate = tripped();
    gate.admit(NO_PATIENCE, gate.wake_at().unwrap());

    let lost_at = gate.wake_at().unwrap();

    assert_eq!(gate.admit(NO_PATIENCE, lost_at), Some(Pass::Probe));
}

#[test]
fn whoever_is_patient_leaves_the_probe_to_others() {
    let mut gate = tripped();
    let probe_at = gate.wake_at().unwrap();

    assert_eq!(gate.admit(Span::from_ms(50), probe_at), None);
    assert_eq!(gate.admit(Span::from_ms(50), probe_at.plus_ms(50)), Some(Pass::Probe));
}

#[test]
fn a_success_that_was_sent_before_the_doubt_proves_nothing() {
    let mut gate = tripped();

    gate.succeeded(Pass::Free, NOW);

    assert_eq!(gate.status(), Status::Tripped);
}

#[test]
fn an_answer_that_blames_the_record_proves_that_the_sink_works() {
    let mut gate = tripped();
    let pass = gate.admit(NO_PATIENCE, gate.wake_at().unwrap()).unwrap();

    assert_eq!(fail(&mut gate, pass, Code::Rejected, NOW), Ruling::Counted);

    assert_eq!(gate.status(), Status::Flowing);
}

#[test]
fn successes_break_the_row_of_failures() {
    let mut gate = Gate::new(&Definition::default().sink);

    for _ in 0..100 {
        for _ in 0..9 {
            assert_eq!(fail(&mut gate, Pass::Free, Code::Unavailable, NOW), Ruling::Counted);
        }
        gate.succeeded(Pass::Free, NOW);
    }

    assert_eq!(gate.status(), Status::Flowing);
}

#[test]
fn refused_connections_cost_one_attempt_of_one_record_and_then_trip_the_gate() {
    let mut gate = Gate::new(&Definition::default().sink);
    let mut probe = |first_failed_at| {
        let now = gate.wake_at().unwrap_or(NOW);
        let pass = gate.admit(NO_PATIENCE, now).unwrap();
        let refusal = refusal(Code::Refused);
        gate.failed(FailedTry { pass, refusal: &refusal, first_failed_at, beyond_tiers: false }, now)
    };

    let rulings: Vec<Ruling> = [None, Some(NOW), None, Some(NOW)].into_iter().map(&mut probe).collect();
    let later: Vec<Ruling> = (0..6).map(|_| probe(None)).collect();

    assert_eq!(rulings, [Ruling::AgainInPlace, Ruling::Held, Ruling::Held, Ruling::Held]);
    assert_eq!(later, [Ruling::Held; 6]);
    assert_eq!(gate.status(), Status::Tripped);
}

#[test]
fn records_known_to_fail_never_trip_the_gate() {
    let mut gate = Gate::new(&Definition::default().sink);
    gate.succeeded(Pass::Free, NOW);

    let rulings: Vec<Ruling> = (0..100).map(|_| fail_again(&mut gate, Pass::Free, NOW.plus_ms(-1))).collect();

    assert!(rulings.iter().all(|ruling| *ruling == Ruling::Counted));
    assert_eq!(gate.status(), Status::Flowing);
}

#[test]
fn what_failed_before_this_gate_was_first_asked_is_known_to_fail() {
    let mut gate = Gate::new(&Definition::default().sink);
    gate.admit(NO_PATIENCE, NOW);

    (0..20).for_each(|_| assert_eq!(fail_again(&mut gate, Pass::Free, NOW.plus_ms(-1)), Ruling::Counted));
}

#[test]
fn however_often_a_record_fails_it_is_one_sign_of_an_outage() {
    let mut gate = Gate::new(&Definition::default().sink);
    gate.succeeded(Pass::Free, NOW.plus_ms(-2));

    for _ in 0..9 {
        assert_eq!(fail(&mut gate, Pass::Free, Code::Unavailable, NOW), Ruling::Counted);
        (0..3).for_each(|_| assert_eq!(fail_again(&mut gate, Pass::Free, NOW), Ruling::Counted));
    }
    assert_eq!(gate.status(), Status::Flowing);
    assert_eq!(fail(&mut gate, Pass::Free, Code::Unavailable, NOW), Ruling::Held);

    assert_eq!(gate.status(), Status::Tripped);
}

#[test]
fn a_probe_that_failed_before_is_counted_only_while_no_fresh_record_waits() {
    let mut gate = Gate::new(&Definition::default().sink);
    gate.succeeded(Pass::Free, NOW.plus_ms(-1));
    fail(&mut gate, Pass::Free, Code::Unauthorized, NOW);
    let mut probe = |fresh_waits| {
        if fresh_waits {
            gate.fresh_waits();
        }
        let pass = gate.admit(NO_PATIENCE, gate.wake_at().unwrap()).unwrap();
        fail_again(&mut gate, pass, NOW)
    };

    let rulings = [true, false, true].map(&mut probe);

    assert_eq!(rulings, [Ruling::Held, Ruling::Counted, Ruling::Held]);
    assert_eq!(gate.status(), Status::Tripped);
}

#[test]
fn a_probe_that_is_known_to_fail_is_counted_and_does_not_make_the_next_one_wait_longer() {
    let mut gate = Gate::new(&Definition::default().sink);
    gate.succeeded(Pass::Free, NOW.plus_ms(-1));
    fail(&mut gate, Pass::Free, Code::Unauthorized, NOW);
    let waits: Vec<i64> = (0..3)
        .map(|_| {
            let pass = gate.admit(NO_PATIENCE, gate.wake_at().unwrap()).unwrap();
            assert_eq!(fail_again(&mut gate, pass, NOW.plus_ms(-2)), Ruling::Counted);
            gate.wake_at().unwrap().since_ms(NOW)
        })
        .collect();

    assert_eq!(waits, [1000, 1000, 1000]);
    assert_eq!(gate.status(), Status::Tripped);
}

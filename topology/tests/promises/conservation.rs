//! No record is lost and none is in two places: whatever is sent, whatever fails, whenever the host dies.

use std::collections::BTreeMap;

use eddy_contract::{Code, Envelope};
use eddy_topology::testing::{Answer, TestDriver};
use proptest::prelude::*;

/// Something that happens to the host, its neighbours or the clock.
#[derive(Debug, Clone)]
enum Event {
    /// A trigger of one of five devices, which stand for five kinds of luck.
    Trigger(usize),
    /// The same bytes as some record before.
    Duplicate(prop::sample::Index),
    NotATrigger,
    Advance(u32),
    Down(Answer),
    Up,
    Unwritable(usize),
    Writable,
    GuardDown,
    MarksLost,
    GuardUp,
    Commit,
    CrashAfter(usize),
}

/// Devices and what the downstream makes of their triggers.
const LUCK: [(&str, Answer); 5] = [
    ("lucky", Answer::Accepted),
    ("refused", Answer::Status(400)),
    ("busy", Answer::Status(503)),
    ("reset", Answer::Fails(Code::Reset)),
    ("odd", Answer::Status(418)),
];

fn harmless() -> impl Strategy<Value = Event> {
    let outages = [
        Answer::Status(503),
        Answer::Status(401),
        Answer::Status(429),
        Answer::Fails(Code::Refused),
        Answer::Fails(Code::Timeout),
    ];
    prop_oneof![
        8 => (0..LUCK.len()).prop_map(Event::Trigger),
        2 => any::<prop::sample::Index>().prop_map(Event::Duplicate),
        1 => Just(Event::NotATrigger),
        5 => (1_u32..20_000).prop_map(Event::Advance),
        1 => (100_000_u32..400_000).prop_map(Event::Advance),
        1 => prop::sample::select(outages.to_vec()).prop_map(Event::Down),
        1 => Just(Event::Up),
        1 => (0..5_usize).prop_map(Event::Unwritable),
        1 => Just(Event::Writable),
        1 => Just(Event::GuardDown),
        1 => Just(Event::MarksLost),
        1 => Just(Event::GuardUp),
    ]
}

fn deadly() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => harmless(),
        3 => Just(Event::Commit),
        2 => (0..40_usize).prop_map(Event::CrashAfter),
        1 => Just(Event::Down(Answer::AcknowledgementLost)),
    ]
}

fn new_driver() -> TestDriver {
    let mut driver = TestDriver::default();
    for (device, answer) in LUCK {
        driver.downstream().fails(device, answer);
    }
    driver
}

fn happen(driver: &mut TestDriver, event: Event) {
    let names = driver.topology().names().clone();
    match event {
        Event::Trigger(luck) => {
            driver.trigger(LUCK[luck].0);
        }
        Event::Duplicate(index) => {
            let sent: Vec<_> = driver.topic(names.source.as_str()).into_iter().cloned().collect();
            if !sent.is_empty() {
                let stored = index.get(&sent);
                driver.send(stored.key.as_deref(), &stored.value);
            }
        }
        Event::NotATrigger => {
            driver.send(Some(b"key"), b"not a trigger");
        }
        Event::Advance(ms) => driver.advance(&format!("{ms}ms")),
        Event::Down(answer) => driver.downstream().down(answer),
        Event::Up => driver.downstream().up(),
        Event::Unwritable(index) => {
            let topics = [&names.failures, &names.dlq, &names.tiers[0], &names.tiers[1], &names.tiers[2]];
            driver.make_unwritable(topics[index].as_str());
        }
        Event::Writable => names.data_topics().for_each(|topic| driver.make_writable(topic.as_str())),
        Event::GuardDown => driver.guard().down(),
        Event::MarksLost => driver.guard().lose_marks(),
        Event::GuardUp => driver.guard().up(),
        Event::Commit => driver.commit(),
        Event::CrashAfter(half_effects) => driver.crash_after(half_effects),
    }
}

/// Everything works again, for long enough.
fn recover(driver: &mut TestDriver) {
    for event in [Event::Up, Event::Writable, Event::GuardUp] {
        happen(driver, event);
    }
    // A success now and then shows that the downstream works, as live traffic would.
    for _ in 0..300 {
        driver.trigger("lucky");
        driver.advance("1m");
        if driver.is_settled() {
            break;
        }
    }
    driver.commit();
}

/// Each retry from a tier was sent at or after its due time.
fn assert_never_early(driver: &TestDriver) {
    let mut earliest: BTreeMap<(String, u32), i64> = BTreeMap::new();
    for tier in &driver.topology().names().tiers {
        for letter in driver.letters(tier.as_str()) {
            let due = letter.due_ms.expect("what waits on a tier has a due time");
            let entry = earliest.entry((letter.id.to_string(), letter.attempts.delivery + 1)).or_insert(due);
            *entry = due.min(*entry);
        }
    }
    for (number, sent) in driver.received().iter().enumerate() {
        if let Some(due) = earliest.get(&(sent.id.to_string(), sent.attempt)) {
            let is_blip = |answer: &Answer| matches!(answer, Answer::Fails(Code::Refused | Code::Reset));
            let before = &driver.received()[..number];
            let in_place = sent.attempt == 2 && before.iter().any(|b| b.id == sent.id && is_blip(&b.answer));
            assert!(sent.at.0 >= *due || in_place, "{} was sent {} ms early", sent.id, due - sent.at.0);
        }
    }
}

/// Wherever a record's bytes went, they are those that its producer wrote.
fn assert_bytes_intact(driver: &TestDriver) {
    let source = driver.topic(driver.topology().names().source.as_str());
    let original =
        |id: &eddy_contract::RecordId| &source[usize::try_from(id.offset).expect("an offset of the source")].value;
    for sent in driver.received() {
        assert_eq!(sent.payload, original(&sent.id));
    }
    for letter in driver.dead_letters() {
        assert_eq!(letter.payload(), Some(original(&letter.id).as_ref()));
    }
}

/// Whether the source has the same bytes once more. Of two triggers with one effect the first can be dead-lettered and the
/// second delivered: then the first is a dead letter, and its effect has taken place.
fn has_twin(driver: &TestDriver, id: &eddy_contract::RecordId) -> bool {
    let source = driver.topic(driver.topology().names().source.as_str());
    let value = &source[usize::try_from(id.offset).expect("an offset of the source")].value;
    source.iter().filter(|stored| stored.value == *value).count() > 1
}

fn assert_ceiling(driver: &TestDriver) {
    let over = |letter: &Envelope| letter.attempts.delivery > 4;
    assert!(!driver.dead_letters().iter().any(over), "a record was tried more than four times");
}

#[test]
fn a_dead_letter_whose_twin_was_delivered_is_listed_in_two_places_and_nothing_is_missing() {
    let mut driver = new_driver();
    driver.downstream().down(Answer::Status(429));
    let dead = driver.trigger("lucky");
    driver.advance("10m");
    driver.downstream().up();
    let stored = driver.topic(driver.topology().names().source.as_str())[0].clone();
    driver.send(stored.key.as_deref(), &stored.value);
    driver.advance("1m");

    let report = driver.audit();

    assert_eq!((report.in_two_places, report.conserved), (vec![dead], true));
    assert_eq!(driver.received().iter().filter(|sent| sent.had_effect()).count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Without a crash: exactly one place, exactly one effect.
    #[test]
    fn each_record_is_in_exactly_one_place_whatever_fails(events in prop::collection::vec(harmless(), 1..40)) {
        let mut driver = new_driver();

        for event in events {
            happen(&mut driver, event);
            let report = driver.audit();
            prop_assert!(report.conserved, "missing: {:?}", report.missing);
        }
        recover(&mut driver);

        let report = driver.audit();
        prop_assert!(driver.is_settled(), "{report:?}");
        prop_assert!(report.conserved && report.in_flight == 0, "{report:?}");
        prop_assert!(report.in_two_places.iter().all(|id| has_twin(&driver, id)), "{report:?}");
        prop_assert_eq!(report.copies, 0);
        let mut effects: BTreeMap<&str, u32> = BTreeMap::new();
        for sent in driver.received().iter().filter(|sent| sent.had_effect()) {
            *effects.entry(&sent.idempotency_key).or_default() += 1;
        }
        prop_assert!(effects.values().all(|count| *count == 1));
        assert_never_early(&driver);
        assert_bytes_intact(&driver);
        assert_ceiling(&driver);
    }

    /// With crashes at any boundary of an effect, positions stored long ago and lost acknowledgements: at least one
    /// place, and never an effect that was marked done.
    #[test]
    fn no_record_is_lost_wherever_the_host_dies(events in prop::collection::vec(deadly(), 1..40)) {
        let mut driver = new_driver();
        driver.commit_on_demand();

        for event in events {
            happen(&mut driver, event);
            let report = driver.audit();
            prop_assert!(report.conserved, "missing: {:?}", report.missing);
        }
        driver.crash();
        recover(&mut driver);

        let report = driver.audit();
        prop_assert!(driver.is_settled(), "{report:?}");
        prop_assert!(report.conserved && report.in_flight == 0, "{report:?}");
        assert_never_early(&driver);
        assert_bytes_intact(&driver);
        assert_ceiling(&driver);
    }
}

//! A believable load of triggers, for trying eddy and for tests.
//!
//! Devices cross fences of a city: ENTER, now and then DWELL, EXIT, and so on. A few devices are busy and most are
//! not. Event times never go back. Seed and start decide every byte: only integers are used, so the output is the
//! same on every machine.
//!
//! No two valid triggers share device, fence, transition and second, because that is what eddy derives an idempotency
//! key from; exact duplicates come only when asked for. Nothing here knows how fast it is asked.

mod poison;
mod random;
mod trigger;

use std::collections::VecDeque;

pub use self::poison::Poison;
use self::{random::Random, trigger::Fleet};

/// How many of the last triggers a duplicate is taken from.
const REMEMBERED: usize = 64;

/// What to generate.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    /// Event time of the first trigger, nanoseconds since 1970.
    pub start_ns: i64,
    /// Triggers per second of event time.
    pub rate: u32,
    /// Of all lines, how many are poison, 0 to 1.
    pub poison_rate: f64,
    /// Of all lines, how many repeat an earlier line byte for byte, 0 to 1.
    pub duplicate_rate: f64,
}

/// One line without its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub kind: Kind,
    pub bytes: Vec<u8>,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Valid,
    Duplicate,
    Poison(Poison),
}

/// Lines without end.
#[derive(Debug)]
pub struct Generator {
    random: Random,
    fleet: Fleet,
    poison: Share,
    duplicate: Share,
    recent: VecDeque<Vec<u8>>,
    poisoned: usize,
}

impl Generator {
    /// A generator at its first line.
    pub fn new(plan: &Plan) -> Self {
        // The start counts too: the same seed at another time must not give the same idempotency keys to other bytes.
        let mut random = Random::new(plan.seed.rotate_left(32) ^ plan.start_ns.unsigned_abs());
        let fleet = Fleet::new(plan.start_ns, plan.rate, &mut random);
        Self {
            random,
            fleet,
            poison: Share::of(plan.poison_rate),
            duplicate: Share::of(plan.duplicate_rate),
            recent: VecDeque::with_capacity(REMEMBERED),
            poisoned: 0,
        }
    }

    /// The next line.
    pub fn next_line(&mut self) -> Line {
        if self.poison.hits(&mut self.random) {
            return self.poison();
        }
        if self.duplicate.hits(&mut self.random) && !self.recent.is_empty() {
            let bytes = self.recent[self.random.index(self.recent.len())].clone();
            return Line { kind: Kind::Duplicate, bytes };
        }
        let bytes = self.fleet.next_trigger(&mut self.random).to_json().into_bytes();
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(bytes.clone());
        Line { kind: Kind::Valid, bytes }
    }

    /// All kinds of poison in turn, so that a short load has every kind that its length allows.
    fn poison(&mut self) -> Line {
        let poison = Poison::ALL[self.poisoned % Poison::ALL.len()];
        self.poisoned += 1;
        let bytes = poison.spoil(&self.fleet.stray_trigger(&mut self.random));
        Line { kind: Kind::Poison(poison), bytes }
    }
}

/// A share of all lines, in 2⁻³²; `None` never draws, so that a rate of 0 does not change the other lines.
#[derive(Debug, Clone, Copy)]
struct Share(Option<u64>);

impl Share {
    const WHOLE: u64 = 1 << 32;

    fn of(rate: f64) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=1 before")]
        let parts = (rate.clamp(0.0, 1.0) * Self::WHOLE as f64) as u64;
        Self((parts > 0).then_some(parts))
    }

    fn hits(self, random: &mut Random) -> bool {
        self.0.is_some_and(|parts| random.below(Self::WHOLE) < parts)
    }
}

#[cfg(test)]
mod tests;

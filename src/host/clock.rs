//! The one clock of the host: wall time that never runs backwards.
//!
//! Due times are wall times, because they outlive the process; a clock that was set back must not let a record run
//! early twice or a timer wait for hours. So time is `max(last, wall)`. What a clock set *forward* does to due times
//! cannot be known here; the log shows when it happened.

use std::{
    sync::atomic::{AtomicI64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use eddy_topology::time::Timestamp;

/// Monotone wall time, shared by all tasks of a host.
#[derive(Debug, Default)]
pub(super) struct Clock {
    last_ms: AtomicI64,
}

impl Clock {
    /// Milliseconds since 1970, never less than an earlier answer.
    pub(super) fn now(&self) -> Timestamp {
        let wall_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let wall_ms = i64::try_from(wall_ms).unwrap_or(i64::MAX);
        Timestamp(self.last_ms.fetch_max(wall_ms, Ordering::Relaxed).max(wall_ms))
    }

    /// How long it is until `then`; zero when it has passed.
    pub(super) fn until(&self, then: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(then.0 - self.now().0).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_runs_backwards() {
        let clock = Clock::default();
        let ahead = clock.now().plus_ms(60_000);
        clock.last_ms.store(ahead.0, Ordering::Relaxed);

        assert_eq!(clock.now(), ahead);
    }
}

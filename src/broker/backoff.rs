//! How long to wait before the next try: doubling, with a cap, and with an end where a caller wants one.

use std::time::{Duration, Instant};

use super::Error;

/// A pause that doubles up to a cap.
#[derive(Debug, Clone)]
pub(crate) struct Backoff {
    first: Duration,
    cap: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, next: first }
    }

    /// The pause to make now; the following one is twice as long.
    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.cap);
        pause
    }

    pub(crate) const fn reset(&mut self) {
        self.next = self.first;
    }
}

/// Tries that end: a backoff with a deadline.
#[derive(Debug)]
pub(crate) struct Patience {
    backoff: Backoff,
    until: Instant,
}

impl Patience {
    pub(crate) fn new(limit: Duration) -> Self {
        Self {
            backoff: Backoff::new(Duration::from_millis(20), Duration::from_millis(500)),
            until: Instant::now() + limit,
        }
    }

    /// Waits before the next try; `false` when patience is over.
    pub(crate) async fn wait(&mut self) -> bool {
        let pause = self.backoff.pause();
        if Instant::now() + pause > self.until {
            return false;
        }
        tokio::time::sleep(pause).await;
        true
    }

    /// Waits if the error may go away by itself; otherwise gives it back.
    pub(crate) async fn wait_out(&mut self, error: Error) -> Result<(), Error> {
        if (error.is_transient() || error.is_settling()) && self.wait().await { Ok(()) } else { Err(error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap_and_start_again_after_a_success() {
        let mut backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(5));

        let pauses: Vec<_> = (0..5).map(|_| backoff.pause().as_millis()).collect();
        backoff.reset();

        assert_eq!(pauses, [1, 2, 4, 5, 5]);
        assert_eq!(backoff.pause().as_millis(), 1);
    }
}

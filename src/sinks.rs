//! Sinks: where deliveries go.
//!
//! A sink carries out one delivery and says what it saw, as an [`Outcome`] with a code of the closed list. It never
//! retries, never follows and never decides: whether to try again, hold or give up is the topology's business.
//!
//! To write your own, implement [`Sink`]; `examples/own_sink.rs` does it in thirty lines.

mod open;
mod stdout;
mod topic;
mod webhook;

use eddy_contract::{Code, SideEffect};
use eddy_topology::{
    effect::Delivery,
    outcome::{Outcome, Refusal},
};
use futures_util::{FutureExt, future::join_all};

pub use futures_util::future::BoxFuture;

pub use self::{
    open::{OpenError, check, open},
    stdout::Stdout,
    topic::{Append, AppendError, Form, TopicSink},
    webhook::{Header, Settings as WebhookSettings, SettingsError as WebhookSettingsError, Webhook},
};

/// Somewhere to deliver to.
pub trait Sink: Send + Sync {
    /// What the guard and the envelopes call it. Effects are remembered under this name, so it must not change when
    /// only the address does.
    fn name(&self) -> &str;

    /// Delivers once and says what happened; bounds its own time. Deliveries of one key come one after the other,
    /// others concurrently. Never panics for what a record contains.
    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome>;

    /// How many deliveries it wants to be given at once. They are answered together, so more than one is for a sink that
    /// sends them together.
    fn batch_max(&self) -> usize {
        1
    }

    /// Delivers each once and says what happened to each, in their order.
    fn deliver_all(&self, deliveries: Vec<Delivery>) -> BoxFuture<'_, Vec<Outcome>> {
        join_all(deliveries.into_iter().map(|delivery| self.deliver(delivery))).boxed()
    }
}

/// A refusal without an answer of the downstream.
fn failed(code: Code, effect: SideEffect, message: impl Into<String>) -> Outcome {
    let message = message.into();
    Outcome::Failed(Refusal { code, status: None, retry_after_ms: None, message, effect, location: None })
}

/// An error and its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

//! A downstream that answers as it is told, and remembers what it was sent.

use bytes::Bytes;
use eddy_contract::{Code, RecordId, SideEffect};

use crate::{
    Span, Timestamp,
    effect::Delivery,
    outcome::{Outcome, Refusal, code_of_status},
};

/// What the downstream answers to one delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It acknowledges.
    Accepted,
    /// It answers with this status.
    Status(u16),
    /// With this status and a time to wait.
    RetryAfter(u16, Span),
    /// With this status and text.
    Says(u16, String),
    /// It does not come to an answer with a status.
    Fails(Code),
    /// It has the effect and nobody hears of it.
    AcknowledgementLost,
}

/// One delivery that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// When.
    pub at: Timestamp,
    /// Whose.
    pub id: RecordId,
    /// The record's key.
    pub key: Option<Bytes>,
    /// The bytes.
    pub payload: Bytes,
    /// Of the effect.
    pub idempotency_key: String,
    /// 1 for the first.
    pub attempt: u32,
    /// What was answered.
    pub answer: Answer,
}

impl Received {
    /// Whether the effect took place.
    pub const fn had_effect(&self) -> bool {
        matches!(self.answer, Answer::Accepted | Answer::AcknowledgementLost)
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Downstream {
    /// Text in the payload and what follows: answers, the last of which may repeat.
    scripts: Vec<Script>,
    /// For everything.
    down: Option<Answer>,
    takes: Span,
    received: Vec<Received>,
}

#[derive(Debug)]
struct Script {
    who: String,
    answers: Vec<Answer>,
    repeats: bool,
}

impl Downstream {
    /// Payloads that contain `who` are always answered so.
    pub fn fails(&mut self, who: &str, answer: Answer) {
        self.scripts.push(Script { who: who.to_owned(), answers: vec![answer], repeats: true });
    }

    /// Payloads that contain `who` are answered so, one after the other, and then accepted.
    pub fn answers(&mut self, who: &str, answers: impl IntoIterator<Item = Answer>) {
        let answers = answers.into_iter().collect();
        self.scripts.push(Script { who: who.to_owned(), answers, repeats: false });
    }

    /// Everything is answered so.
    pub fn down(&mut self, answer: Answer) {
        self.down = Some(answer);
    }

    /// Everything is as scripted again.
    pub fn up(&mut self) {
        self.down = None;
    }

    /// Each answer takes this long.
    pub fn takes(&mut self, span: &str) {
        self.takes = span.parse().expect("a span such as `30s`");
    }

    /// Everything that arrived.
    pub fn received(&self) -> &[Received] {
        &self.received
    }

    pub(super) fn receive(&mut self, delivery: Delivery, at: Timestamp) -> (Outcome, Span) {
        let answer = match &self.down {
            Some(answer) => answer.clone(),
            None => self.scripted(&delivery.payload),
        };
        let outcome = answer.to_outcome();
        self.received.push(Received {
            at,
            id: delivery.id,
            key: delivery.key,
            payload: delivery.payload,
            idempotency_key: delivery.idempotency_key.as_ref().to_owned(),
            attempt: delivery.attempt,
            answer,
        });
        (outcome, self.takes)
    }

    fn scripted(&mut self, payload: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(payload);
        let script = self.scripts.iter_mut().find(|script| text.contains(&script.who) && !script.answers.is_empty());
        match script {
            None => Answer::Accepted,
            Some(script) if script.repeats => script.answers[0].clone(),
            Some(script) => script.answers.remove(0),
        }
    }
}

impl Answer {
    fn to_outcome(&self) -> Outcome {
        match self {
            Self::Accepted => Outcome::Delivered,
            Self::Status(status) => refused(*status, None, ""),
            Self::RetryAfter(status, span) => refused(*status, Some(span.as_ms().unsigned_abs()), ""),
            Self::Says(status, message) => refused(*status, None, message),
            Self::Fails(code) => failed(*code, None, None, "", SideEffect::None),
            Self::AcknowledgementLost => failed(Code::Timeout, None, None, "", SideEffect::Unknown),
        }
    }
}

fn refused(status: u16, retry_after_ms: Option<u64>, message: &str) -> Outcome {
    failed(code_of_status(status), Some(status), retry_after_ms, message, SideEffect::Refused)
}

fn failed(code: Code, status: Option<u16>, retry_after_ms: Option<u64>, message: &str, effect: SideEffect) -> Outcome {
    Outcome::Failed(Refusal { code, status, retry_after_ms, message: message.to_owned(), effect, location: None })
}

//! `id`: where a record came from, `topic/partition/offset[/part]`.
//!
//! Conservation, the dead-letter fold and the CLI speak of records by id. It is never an idempotency key.

use serde::{Deserialize, Serialize};

/// The origin of a record. `part` is 0 for the first, and so far only, part that a module makes of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RecordId {
    pub topic: String,
    pub partition: u32,
    pub offset: i64,
    pub part: u16,
}

/// A text that is not `topic/partition/offset[/part]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id of the form topic/partition/offset")]
pub struct ParseIdError(pub String);

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { topic, partition, offset, part } = self;
        write!(f, "{topic}/{partition}/{offset}")?;
        if *part > 0 {
            write!(f, "/{part}")?;
        }
        Ok(())
    }
}

impl From<RecordId> for String {
    fn from(id: RecordId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for RecordId {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        text.parse()
    }
}

impl std::str::FromStr for RecordId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        let refuse = || ParseIdError(text.to_owned());
        let mut fields = text.split('/');
        let topic = fields.next().filter(|topic| !topic.is_empty()).ok_or_else(refuse)?;
        let partition = fields.next().and_then(|p| p.parse().ok()).ok_or_else(refuse)?;
        let offset = fields.next().and_then(|o| o.parse().ok()).filter(|o| *o >= 0).ok_or_else(refuse)?;
        let part = match fields.next() {
            None => 0,
            Some(part) => part.parse().ok().filter(|part| *part > 0).ok_or_else(refuse)?,
        };
        if fields.next().is_some() {
            return Err(refuse());
        }
        Ok(Self { topic: topic.to_owned(), partition, offset, part })
    }
}

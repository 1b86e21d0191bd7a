//! Names of topics, modules and consumers, all derived from the source's. No name is built anywhere else.

/// The name of a topic: 1 to 63 of `[a-z0-9-]`, no `-` at either end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicName(std::sync::Arc<str>);

impl TopicName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

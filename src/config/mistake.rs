//! What can be wrong with a definition before its meaning is looked at, in words for the person who wrote it.

use std::fmt;

use super::{
    nearest,
    reader::Kind,
    tree::{Layer, Path},
};

/// One mistake, with the layer that made it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    #[error("`{path}` in {layer} is not a key; {}", advice(nearest.as_ref(), expected))]
    UnknownKey { path: Path, layer: Layer, nearest: Option<Path>, expected: Vec<String> },
    #[error("{} in {layer} cannot be used: {message}", place(path))]
    Invalid { path: Path, layer: Layer, message: String },
    #[error("the definition {layer} cannot be read: {error}")]
    FileUnreadable { layer: Layer, error: String },
    #[error("the definition {layer} is not TOML: {error}")]
    FileNotToml { layer: Layer, error: String },
    #[error("{layer} is not UTF-8")]
    NotUtf8 { layer: Layer },
    #[error("`--set {flag}` is not of the form path=value")]
    FlagWithoutPath { flag: String },
}

impl Mistake {
    pub(super) fn new(kind: Kind, table: &Path, path: Path, layer: Layer) -> Self {
        match kind {
            Kind::UnknownKey { key, expected } => {
                let nearest = nearest(&key, expected.iter().copied()).map(|name| table.join(name));
                let expected = expected.iter().map(|&name| table.join(name).to_string()).collect();
                Self::UnknownKey { path, layer, nearest, expected }
            }
            Kind::Invalid(message) => Self::Invalid { path, layer, message },
        }
    }
}

fn advice(nearest: Option<&Path>, expected: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("the keys there are {}", expected.join(", ")),
    }
}

fn place(path: &Path) -> String {
    if path.0.is_empty() { "the definition".to_owned() } else { format!("`{path}`") }
}

/// All mistakes of a definition: a single one in a line, several below one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes<M = Mistake>(pub Vec<M>);

impl<M: fmt::Display> fmt::Display for Mistakes<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "{one}"),
            many => {
                write!(f, "the definition has {} mistakes", many.len())?;
                many.iter().try_for_each(|mistake| write!(f, "\n  - {mistake}"))
            }
        }
    }
}

impl<M: fmt::Debug + fmt::Display> std::error::Error for Mistakes<M> {}

//! A definition before it is read: a tree of values, each with the layer that set it.
//!
//! Merging is decided here: a table merges with a table, anything else replaces what stood there, an array as a
//! whole. Text from the environment and from flags stays text until the definition says what type it wants
//! ([`super::reader`]), so that `EDDY_SINK__TIMEOUT=5s` and `--set retry.tiers=200ms,400ms` need no quotes.

use std::{collections::BTreeMap, fmt, path::PathBuf, sync::Arc};

/// Where a value comes from, weakest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// The definition that is compiled in.
    Default,
    /// The file of `--config`.
    File(PathBuf),
    /// A variable, by its name.
    Environment(String),
    /// `--set`.
    Flag,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default definition"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag => f.write_str("--set"),
        }
    }
}

/// One step from a node to a node below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// The way from the root to a node, shown as `retry.tiers[1]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path(pub(super) Vec<Step>);

impl Path {
    /// The path of a dotted name, without indices.
    pub(super) fn of(dotted: &str) -> Self {
        Self(dotted.split('.').map(|key| Step::Key(key.to_owned())).collect())
    }

    /// This path and one key more.
    pub(super) fn join(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Self(steps)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if depth == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A value and the layer that set it; a table bears the strongest layer that set anything in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) layer: Arc<Layer>,
    pub(super) value: Value,
}

/// A value that was not read yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Table(BTreeMap<String, Node>),
    Array(Vec<Node>),
    /// Typed by TOML.
    Scalar(toml::Value),
    /// Without a type, from the environment or a flag.
    Text(String),
}

impl Node {
    /// A tree in which everything was set by one layer.
    pub(super) fn from_toml(value: toml::Value, layer: &Arc<Layer>) -> Self {
        let below = |value| Self::from_toml(value, layer);
        let value = match value {
            toml::Value::Table(table) => {
                Value::Table(table.into_iter().map(|(key, value)| (key, below(value))).collect())
            }
            toml::Value::Array(values) => Value::Array(values.into_iter().map(below).collect()),
            scalar @ (toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)) => Value::Scalar(scalar),
        };
        Self { layer: Arc::clone(layer), value }
    }

    /// A tree that holds one text at `path`.
    pub(super) fn from_text(path: &Path, text: &str, layer: &Arc<Layer>) -> Self {
        let leaf = Self { layer: Arc::clone(layer), value: Value::Text(text.to_owned()) };
        path.0.iter().rev().fold(leaf, |below, step| match step {
            Step::Key(key) => {
                Self { layer: Arc::clone(layer), value: Value::Table(BTreeMap::from([(key.clone(), below)])) }
            }
            Step::Index(_) => below,
        })
    }

    /// Lays `above` over this tree.
    pub(super) fn merge(&mut self, above: Self) {
        match (&mut self.value, above.value) {
            (Value::Table(below), Value::Table(above_table)) => {
                self.layer = above.layer;
                for (key, node) in above_table {
                    match below.get_mut(&key) {
                        Some(present) => present.merge(node),
                        None => drop(below.insert(key, node)),
                    }
                }
            }
            (_, value) => *self = Self { layer: above.layer, value },
        }
    }

    /// The node at `steps`.
    pub(super) fn find(&self, steps: &[Step]) -> Option<&Self> {
        let Some((step, rest)) = steps.split_first() else { return Some(self) };
        match (step, &self.value) {
            (Step::Key(key), Value::Table(table)) => table.get(key)?.find(rest),
            (Step::Index(index), Value::Array(nodes)) => nodes.get(*index)?.find(rest),
            _ => None,
        }
    }

    /// Puts `node` at `steps`, or takes away what is there. Does nothing where no such place exists.
    pub(super) fn replace(&mut self, steps: &[Step], node: Option<Self>) {
        match (steps, &mut self.value) {
            ([], _) => *self = node.unwrap_or_else(|| self.clone()),
            ([Step::Key(key)], Value::Table(table)) => match node {
                Some(node) => drop(table.insert(key.clone(), node)),
                None => drop(table.remove(key)),
            },
            ([Step::Key(key), rest @ ..], Value::Table(table)) => {
                if let Some(below) = table.get_mut(key) {
                    below.replace(rest, node);
                }
            }
            ([Step::Index(index), rest @ ..], Value::Array(nodes)) => {
                if let Some(below) = nodes.get_mut(*index) {
                    below.replace(rest, node);
                }
            }
            _ => {}
        }
    }
}

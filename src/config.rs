//! The definition as this run sees it: the compiled-in default, a file, the environment, and flags, in that order.
//!
//! The file says *what* runs, a flag *how* this run differs. Every mistake of every layer is reported at once, with
//! the layer that made it and the nearest name that exists. What a valid value *means* (may this tier be longer than
//! that retention?) is decided by the topology's builder, not here. Secrets never stand in a definition: it names a
//! variable or a file that holds them ([`Secret`]).

mod mistake;
mod reader;
mod secret;
mod tree;

use std::{ffi::OsString, path::PathBuf, sync::Arc};

use serde::de::DeserializeOwned;

pub use self::{
    mistake::{Mistake, Mistakes},
    secret::{Secret, SecretError},
    tree::{Layer, Path},
};
use self::{
    reader::Kind,
    tree::{Node, Step},
};

/// Variables of eddy that are no part of the definition.
const OTHER_VARIABLES: [&str; 4] = ["EDDY_CLUSTER", "EDDY_CONFIG", "EDDY_DATA_DIR", "EDDY_LOG"];

/// Variables with these prefixes are no part of the definition either.
const OTHER_PREFIXES: [&str; 2] = ["EDDY_TEST_", "EDDY_BENCH_"];

/// What a run lays over the compiled-in default.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub file: Option<PathBuf>,
    /// All variables of the process; those that do not start with `EDDY_` are not looked at.
    pub variables: Vec<(OsString, OsString)>,
    /// `path=value`, in the order of the command line.
    pub flags: Vec<String>,
}

impl Overrides {
    /// The file and flags that were given, and this process's environment.
    pub fn from_process(file: Option<PathBuf>, flags: Vec<String>) -> Self {
        Self { file, variables: std::env::vars_os().collect(), flags }
    }
}

/// Reads `default` with everything that `overrides` lays over it.
///
/// # Errors
/// Every mistake of every layer.
pub fn load<T: DeserializeOwned>(default: &str, overrides: &Overrides) -> Result<T, Mistakes> {
    let (default, mut mistakes) = (parse_default(default), Vec::new());
    let mut tree = default.clone();
    for layer in layers(overrides) {
        match layer {
            Ok(layer) => tree.merge(layer),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    match read(&default, tree, &mut mistakes) {
        Some(definition) if mistakes.is_empty() => Ok(definition),
        Some(_) | None => Err(Mistakes(mistakes)),
    }
}

/// Reads the tree; after a fault puts the default back in its place and goes on, so that all faults are found.
fn read<T: DeserializeOwned>(default: &Node, mut tree: Node, mistakes: &mut Vec<Mistake>) -> Option<T> {
    loop {
        let fault = match T::deserialize(&tree) {
            Ok(definition) => return Some(definition),
            Err(fault) => fault,
        };
        let table = fault.path();
        let path = match &fault.kind {
            Kind::UnknownKey { key, .. } => table.join(key),
            Kind::Invalid(_) => table.clone(),
        };
        let layer = tree.find(&path.0).map_or_else(|| Arc::clone(&tree.layer), |node| Arc::clone(&node.layer));
        let repaired = repair(default, &tree, &path, &fault.kind);
        mistakes.push(Mistake::new(fault.kind, &table, path, (*layer).clone()));
        if repaired == tree {
            return None;
        }
        tree = repaired;
    }
}

/// The tree without the faulty value. Within an array there is no default to put back, so the whole array goes.
fn repair(default: &Node, tree: &Node, path: &Path, kind: &Kind) -> Node {
    let steps = match kind {
        Kind::UnknownKey { .. } => &path.0[..],
        Kind::Invalid(_) => path.0.split(|step| matches!(step, Step::Index(_))).next().unwrap_or_default(),
    };
    let mut repaired = tree.clone();
    repaired.replace(steps, default.find(steps).cloned());
    repaired
}

fn parse_default(text: &str) -> Node {
    let table: toml::Table = text.parse().expect("the default definition is compiled in and tests parse it");
    Node::from_toml(toml::Value::Table(table), &Arc::new(Layer::Default))
}

/// Every layer over the default, weakest first.
fn layers(overrides: &Overrides) -> impl Iterator<Item = Result<Node, Mistake>> {
    let file = overrides.file.iter().map(from_file);
    let variables = overrides.variables.iter().filter_map(|(name, value)| from_variable(name, value));
    file.chain(variables).chain(overrides.flags.iter().map(|flag| from_flag(flag)))
}

fn from_file(path: &PathBuf) -> Result<Node, Mistake> {
    let layer = Layer::File(path.clone());
    let text = std::fs::read_to_string(path)
        .map_err(|error| Mistake::FileUnreadable { layer: layer.clone(), error: error.to_string() })?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| Mistake::FileNotToml { layer: layer.clone(), error: error.to_string() })?;
    Ok(Node::from_toml(toml::Value::Table(table), &Arc::new(layer)))
}

/// `EDDY_SINK__URL` sets `sink.url`. `None` for variables that are not of the definition.
fn from_variable(name: &OsString, value: &OsString) -> Option<Result<Node, Mistake>> {
    let name = name.to_str().filter(|name| name.starts_with("EDDY_"))?;
    if OTHER_VARIABLES.contains(&name) || OTHER_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return None;
    }
    let layer = Layer::Environment(name.to_owned());
    let path = Path::of(&name["EDDY_".len()..].to_lowercase().replace("__", "."));
    Some(match value.to_str() {
        Some(value) => Ok(Node::from_text(&path, value, &Arc::new(layer))),
        None => Err(Mistake::NotUtf8 { layer }),
    })
}

fn from_flag(flag: &str) -> Result<Node, Mistake> {
    match flag.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => {
            Ok(Node::from_text(&Path::of(path.trim()), value, &Arc::new(Layer::Flag)))
        }
        Some(_) | None => Err(Mistake::FlagWithoutPath { flag: flag.to_owned() }),
    }
}

/// The name that `wrong` was probably meant to be: at most one slip (a letter too many, too few, wrong, or exchanged
/// with its neighbour) in three letters.
fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let slips_max = (wrong.chars().count() / 3).max(1);
    names
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(slips, _)| *slips <= slips_max)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests;

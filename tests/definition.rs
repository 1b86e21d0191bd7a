//! The default definition documents itself: every key that a definition may have stands in `topology/geofence.toml`, with
//! its default or commented out, and above each stands what it is.

use std::collections::BTreeSet;

use eddy::config::{self, Mistake, Overrides};
use eddy_topology::definition::{DEFAULT, Definition};

/// A key of the file, by its path, and whether a comment stands above it.
struct Entry {
    path: String,
    documented: bool,
}

/// The keys and tables of the file, commented out or not.
fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut table = String::new();
    let mut documented = false;
    for line in text.lines() {
        let bare = line.trim_start_matches("# ");
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            table = format!("{name}.");
            entries.push(Entry { path: name.to_owned(), documented: true });
        } else if let Some(key) = bare.split_once(" = ").map(|(key, _)| key).filter(|key| is_key(key)) {
            entries.push(Entry { path: format!("{table}{key}"), documented });
            continue;
        }
        documented = line.starts_with('#');
    }
    entries
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The keys that the types know in a table, told by the mistake that a key unlike any other is.
fn keys_of(table: &str) -> Vec<String> {
    let flags = vec![format!("{table}qqqqqqqqqqqqqqqqqqqqqqqq=1")];
    let read = config::load::<Definition>(DEFAULT, &Overrides { flags, ..Overrides::default() });
    match read.as_ref().map_err(|mistakes| mistakes.0.as_slice()) {
        Err([Mistake::UnknownKey { expected, .. }]) => expected.clone(),
        other => panic!("`{table}` answers an unknown key with {other:?}"),
    }
}

#[test]
fn every_key_of_the_default_definition_has_a_comment_above_it() {
    let undocumented: Vec<_> = entries(DEFAULT).into_iter().filter(|e| !e.documented).map(|e| e.path).collect();

    assert_eq!(undocumented, [""; 0]);
}

#[test]
fn every_key_that_a_definition_may_have_stands_in_the_default_definition() {
    let written: BTreeSet<String> = entries(DEFAULT).into_iter().map(|entry| entry.path).collect();
    let tables = ["source.", "modules.validate.", "sink.", "sink.breaker.", "retry.", "guard.", "dlq.", "limits."];

    let known: BTreeSet<String> = tables.iter().flat_map(|table| keys_of(table)).collect();

    assert_eq!(known.difference(&written).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn every_section_that_a_definition_may_have_stands_in_the_default_definition() {
    let written: BTreeSet<String> =
        entries(DEFAULT).into_iter().filter_map(|e| e.path.split('.').next().map(str::to_owned)).collect();

    assert_eq!(keys_of("").into_iter().collect::<BTreeSet<_>>(), written);
}

#[test]
fn the_default_definition_is_read_the_same_with_layers_and_without() {
    let layered: Definition = config::load(DEFAULT, &Overrides::default()).unwrap();

    assert_eq!(layered, Definition::default());
}

#[test]
fn every_default_can_be_set_as_text_too() {
    let default = Definition::default();
    let table = toml::Table::try_from(&default).unwrap();
    let mut flags = Vec::new();
    flatten("", &table, &mut flags);

    let again: Definition = config::load(DEFAULT, &Overrides { flags, ..Overrides::default() }).unwrap();

    assert_eq!(again, default);
}

/// `path=value` for every value in the table.
fn flatten(prefix: &str, table: &toml::Table, flags: &mut Vec<String>) {
    for (key, value) in table {
        if let Some(below) = value.as_table() {
            flatten(&format!("{prefix}{key}."), below, flags);
        } else {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            flags.push(format!("{prefix}{key}={text}"));
        }
    }
}

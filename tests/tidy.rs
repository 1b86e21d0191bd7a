//! The repository checks itself: what a reader relies on and no compiler enforces.
//!
//! That every key of the default definition is documented is checked in `definition.rs`, that every example in help and
//! README is a command that eddy understands in `cli/examples.rs`.
#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A longer file has a second subject.
const FILE_LINES_MAX: usize = 600;

/// What `eddy-topology` may be built from: bytes, serialisation, hashes. Whoever adds to it has thought about whether
/// it reads the world.
const OF_TOPOLOGY: [&str; 31] = [
    "base64",
    "block-buffer",
    "bytes",
    "cfg-if",
    "cpufeatures",
    "crypto-common",
    "digest",
    "eddy-contract",
    "eddy-topology",
    "equivalent",
    "generic-array",
    "hashbrown",
    "indexmap",
    "itoa",
    "libc",
    "memchr",
    "serde",
    "serde_core",
    "serde_json",
    "serde_spanned",
    "sha2",
    "thiserror",
    "toml",
    "toml_datetime",
    "toml_edit",
    "toml_write",
    "typenum",
    "version_check",
    "winnow",
    "zmij",
    "zerocopy",
];

/// A text file of the repository.
struct Source {
    /// From the root on.
    path: String,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files that people write, by extension; data for tests is none.
fn sources(extensions: &[&str]) -> Vec<Source> {
    let mut paths = Vec::new();
    collect(root(), &mut paths);
    let is_wanted =
        |path: &PathBuf| path.extension().is_some_and(|extension| extensions.iter().any(|e| extension == *e));
    let named = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        Source { path: path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned(), text }
    };
    let sources: Vec<Source> = paths.into_iter().filter(is_wanted).map(named).collect();
    assert!(sources.len() > 1, "no {extensions:?} below {}", root().display());
    sources
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            // Hidden folders are tools', and a folder with this tag is what a build made.
            if !name.starts_with('.') && name != "data" && !path.join("CACHEDIR.TAG").exists() {
                collect(&path, paths);
            }
        } else {
            paths.push(path);
        }
    }
}

/// The lines for which `offends(path, line)` holds, as `path:number: line`.
fn offences(sources: &[Source], offends: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let numbered = |source: &Source| -> Vec<String> {
        let lines = source.text.lines().enumerate().filter(|(_, line)| offends(&source.path, line));
        lines.map(|(index, line)| format!("{}:{}: {}", source.path, index + 1, line.trim())).collect()
    };
    sources.iter().flat_map(numbered).collect()
}

/// The files that a rule finds fault with.
fn offenders(sources: &[Source], offends: impl Fn(&Source) -> bool) -> Vec<&str> {
    sources.iter().filter(|source| offends(source)).map(|source| source.path.as_str()).collect()
}

/// The shell commands of the README's fenced blocks, without comments.
fn readme_commands() -> Vec<String> {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let blocks = readme.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(|line| line.split(" #").next().unwrap().trim().to_owned()).collect()
}

#[test]
fn topology_depends_on_nothing_that_reads_the_world() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--package", "eddy-topology", "--edges", "no-dev,no-build,no-proc-macro"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let packages = tree.lines().filter_map(|line| line.split_whitespace().next());

    let unexpected: BTreeSet<&str> = packages.filter(|package| !OF_TOPOLOGY.contains(package)).collect();

    assert_eq!(unexpected, BTreeSet::new());
}

#[test]
fn every_module_opens_with_what_it_is_for() {
    let sources = sources(&["rs"]);

    assert_eq!(offenders(&sources, |source| !source.text.starts_with("//! ")), [""; 0]);
}

#[test]
fn modules_are_files_beside_their_folders() {
    let sources = sources(&["rs"]);

    assert_eq!(offenders(&sources, |source| source.path.ends_with("/mod.rs")), [""; 0]);
}

#[test]
fn no_file_has_a_second_subject() {
    let sources = sources(&["rs"]);

    assert_eq!(offenders(&sources, |source| source.text.lines().count() > FILE_LINES_MAX), [""; 0]);
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("dbg", "!("), concat!("unimpl", "emented!(")];

    let left = offences(&sources(&["rs", "toml", "md"]), |_, line| marks.iter().any(|mark| line.contains(mark)));

    assert_eq!(left, [""; 0]);
}

#[test]
fn names_of_topics_are_built_in_one_file() {
    let suffixes = ["-failures", "-retry-", "-dlq", "-parked", "-control", "-validate", "-classify"];
    let is_built = |line: &str| line.contains("format!(") && suffixes.iter().any(|suffix| line.contains(suffix));
    let is_elsewhere = |path: &str| path != "topology/src/names.rs" && !path.contains("tests/");

    let built = offences(&sources(&["rs"]), |path, line| is_elsewhere(path) && is_built(line));

    assert_eq!(built, [""; 0]);
}

#[test]
fn only_the_entry_of_the_modules_is_unsafe() {
    let word = concat!("un", "safe");
    let is_code = |line: &str| {
        let code = line.split("//").next().unwrap();
        ["{", "fn", "impl", "extern", "trait"].iter().any(|next| code.contains(&format!("{word} {next}")))
    };

    let found =
        offences(&sources(&["rs"]), |path, line| path != "smartmodules/contract/src/guest/entry.rs" && is_code(line));

    assert_eq!(found, [""; 0]);
}

#[test]
fn no_file_knows_a_machine() {
    let homes = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];
    let temporary = concat!("/t", "mp/");

    let found = offences(&sources(&["rs", "toml", "md"]), |path, line| {
        homes.iter().any(|home| line.contains(home)) || (line.contains(temporary) && !path.contains("tests/"))
    });

    assert_eq!(found, [""; 0]);
}

#[test]
fn the_readmes_test_command_is_what_ci_runs() {
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    let ci: Vec<&str> = ci.lines().collect();
    let commands = readme_commands();
    let command = commands.iter().find(|command| command.contains("cargo test")).unwrap();

    let missing: Vec<&str> = command.split(" && ").filter(|part| !ci.contains(part)).collect();

    assert_eq!(missing, [""; 0]);
}

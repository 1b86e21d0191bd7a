//! The program as a person meets it: exit codes, what goes to stdout and what to stderr, and the hints.
#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod desk;
mod examples;
mod places;

use std::{
    io::Read,
    path::Path,
    process::{Command, Output, Stdio},
};

fn eddy() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eddy"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("EDDY_")) {
        command.env_remove(name);
    }
    command
}

fn run(args: &[&str]) -> Output {
    eddy().args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A definition in a file of its own; the folder goes when it is dropped.
fn definition(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("eddy.toml");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

#[test]
fn the_default_definition_is_good() {
    let output = run(&["check"]);

    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("`geofence-triggers` is good"), "{}", stderr(&output));
}

#[test]
fn quiet_says_nothing_when_all_is_well() {
    let output = run(&["check", "--quiet"]);

    assert!(output.status.success());
    assert_eq!(stdout(&output) + &stderr(&output), "");
}

#[test]
fn mistakes_are_told_all_at_once_with_their_place_and_a_hint() {
    let (_folder, path) = definition("[sink]\nulr = 'http://localhost'\n[retry]\nceiling = 'many'\n");

    let output = eddy().args(["check", "--config", &path]).env("EDDY_DLQ__RETENTOIN", "1d").output().unwrap();

    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    let said = stderr(&output);
    assert!(said.contains("error: the definition has 3 mistakes"), "{said}");
    assert!(said.contains(&format!("`sink.ulr` in {path} is not a key; did you mean `sink.url`?")), "{said}");
    assert!(said.contains(&format!("`retry.ceiling` in {path} cannot be used")), "{said}");
    assert!(said.contains("`dlq.retentoin` in EDDY_DLQ__RETENTOIN is not a key; did you mean"), "{said}");
    assert!(said.contains("\nhint: "), "{said}");
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let output = run(&["check", "--set", "source.topic=No Topic"]);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("No Topic"), "{}", stderr(&output));
}

#[test]
fn parameters_that_a_module_refuses_are_mistakes_of_the_definition() {
    let (_folder, path) = definition("[modules.validate.params]\nmax_size = '1'\n[retry]\nspread_percent = 101\n");

    let output = run(&["check", "--config", &path, "--set", "modules.classify.params.terminal=many"]);

    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("error: the definition has 3 mistakes"), "{said}");
    assert!(said.contains("`modules.validate.params`: parameter `max_size` is not known"), "{said}");
    assert!(
        said.contains("`modules.classify.params`: parameter `terminal` is `many`, not a list of statuses"),
        "{said}"
    );
    assert!(said.contains("`retry.spread_percent` is 101"), "{said}");
}

#[test]
fn a_sink_that_could_be_opened_nowhere_is_a_mistake_of_the_definition() {
    let check = |flags: &[&str]| {
        let output = eddy().arg("check").args(flags.iter().flat_map(|flag| ["--set", flag])).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{flags:?}");
        stderr(&output)
    };

    let https = check(&["sink.url=https://downstream.example/triggers"]);
    let unknown_option = check(&["sink.kind=stdout", "sink.options.colour=red"]);
    let reserved = check(&["sink.options.headers=[{ name = 'idempotency-key', value = 'mine' }]"]);

    assert!(https.contains("https://, and this build speaks plain http only\nhint: put a TLS"), "{https}");
    assert!(unknown_option.contains("`sink.options`: unknown field `colour`"), "{unknown_option}");
    assert!(reserved.contains("header `idempotency-key` is set by eddy itself"), "{reserved}");
}

#[test]
fn a_definition_that_cannot_be_read_is_named() {
    let output = run(&["describe", "--config", "/no/such/eddy.toml"]);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/no/such/eddy.toml"), "{}", stderr(&output));
    assert!(stderr(&output).contains("hint: "), "{}", stderr(&output));
}

#[test]
fn a_definition_that_is_not_toml_is_told_with_its_line() {
    let (_folder, path) = definition("[sink]\nurl = = 1\n");

    let output = run(&["check", "--config", &path]);

    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("line 2"), "{}", stderr(&output));
}

#[test]
fn describe_prints_the_topics_of_the_definition_that_it_was_given() {
    let output = run(&["describe", "--set", "retry.tiers=200ms,400ms,800ms"]);

    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for topic in ["geofence-triggers", "-failures", "-retry-200ms", "-retry-400ms", "-retry-800ms", "-dlq", "-parked"] {
        assert!(text.contains(topic), "{topic} is missing in:\n{text}");
    }
}

#[test]
fn the_environment_and_a_flag_lie_over_the_file() {
    let (_folder, path) = definition("[source]\ntopic = 'from-file'\n[retry]\nceiling = 1\ntiers = ['7s']\n");

    let output = eddy()
        .args(["describe", "--set", "retry.tiers=9s"])
        .env("EDDY_CONFIG", &path)
        .env("EDDY_RETRY__TIERS", "8s")
        .output()
        .unwrap();

    let text = stdout(&output);
    assert!(text.contains("from-file-retry-9s"), "{text}{}", stderr(&output));
    assert!(!text.contains("retry-7s") && !text.contains("retry-8s"), "{text}");
}

#[test]
fn a_command_line_that_is_wrong_exits_with_2() {
    assert_eq!(run(&["chekc"]).status.code(), Some(2));
    assert_eq!(run(&["generate", "--poison-rate", "1.5"]).status.code(), Some(2));
    assert_eq!(run(&["generate", "--rate", "0"]).status.code(), Some(2));
    assert_eq!(run(&["generate", "--start", "yesterday"]).status.code(), Some(2));
}

#[test]
fn generate_writes_the_lines_that_were_asked_for_and_nothing_else() {
    let output = run(&["generate", "--count", "25", "--seed", "3"]);

    assert!(output.status.success());
    assert_eq!(stdout(&output).lines().count(), 25);
    assert!(stdout(&output).ends_with('\n'));
    assert_eq!(stderr(&output), "");
}

#[test]
fn generate_gives_the_sample_input_byte_for_byte() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/triggers.ndjson");

    let output = run(&[
        "generate",
        "--seed=7",
        "--start=2026-11-01T08:00:00Z",
        "--count=2000",
        "--poison-rate=0.015",
        "--duplicate-rate=0.005",
    ]);

    assert!(output.stdout == std::fs::read(sample).unwrap(), "the generator changed: write the sample anew");
}

#[test]
fn a_rate_is_kept() {
    let begin = std::time::Instant::now();

    run(&["generate", "--rate", "500", "--count", "101"]);

    assert!(begin.elapsed().as_millis() >= 200, "the 101st line at 500 a second is due after 0.2 s");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = eddy().arg("generate").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();

    let mut some = [0; 1000];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();

    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}

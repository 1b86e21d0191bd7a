//! Commands against a running `eddy dev`, against the data folder that it leaves, and against what is not there.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::{Child, ChildStderr, Command, Output, Stdio},
    time::{Duration, Instant},
};

use crate::{eddy, run, stderr, stdout};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/triggers.ndjson");

/// A running `eddy dev`. Dropping it is kill -9.
pub(crate) struct Dev {
    child: Child,
    said: BufReader<ChildStderr>,
    pub(crate) address: String,
}

impl Dev {
    /// Starts it on a data folder and waits for its address.
    fn start(data_dir: &Path) -> Self {
        Self::start_with(data_dir, &[])
    }

    pub(crate) fn start_with(data_dir: &Path, args: &[&str]) -> Self {
        let mut command = eddy();
        command.arg("dev").args(args).arg("--data-dir").arg(data_dir).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let address = line.strip_prefix("node").and_then(|rest| rest.split_whitespace().next());
        let address = address.unwrap_or_else(|| panic!("eddy dev began with: {line}")).to_owned();
        Self { child, said, address }
    }

    /// Asks it to stop and waits until it did; gives the exit code and what it said.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    /// A command against its node.
    pub(crate) fn ask(&self, args: &[&str]) -> Output {
        eddy().args(args).args(["--cluster", &self.address]).output().unwrap()
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to do.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Asks until the answer is as wanted.
pub(crate) fn ask_until(ask: impl Fn() -> Output, is_wanted: impl Fn(&str) -> bool) -> String {
    let started = Instant::now();
    loop {
        let output = ask();
        if is_wanted(&stdout(&output)) {
            return stdout(&output);
        }
        assert!(started.elapsed() < PATIENCE, "{}{}", stdout(&output), stderr(&output));
        std::thread::sleep(Duration::from_millis(200));
    }
}

pub(crate) fn assert_fails(output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(words.iter().all(|word| said.contains(word)), "{words:?} are not all in:\n{said}");
}

#[test]
fn dead_letters_can_be_read_while_eddy_dev_runs_and_from_the_folder_that_it_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().to_str().unwrap();
    let dev = Dev::start(folder.path());

    let produced = dev.ask(&["produce", SAMPLE]);
    let id = "geofence-triggers/0/6";
    let listed = ask_until(|| dev.ask(&["dlq", "list"]), |table| table.contains(id));
    let shown = dev.ask(&["dlq", "show", id]);
    let applied = dev.ask(&["apply"]);
    let (code, said) = dev.stop();
    let left = run(&["dlq", "list", "--json", "--data-dir", data_dir]);

    assert!(stderr(&produced).contains("2000 records in `geofence-triggers`"), "{}", stderr(&produced));
    assert!(listed.contains("terminal:invalid_json"), "{listed}");
    assert!(stdout(&shown).contains("invalid_json"), "{}{}", stdout(&shown), stderr(&shown));
    assert_eq!(stdout(&applied), "", "eddy dev has applied everything");
    assert_eq!(code, Some(0), "{said}");
    assert!(stdout(&left).lines().any(|line| line.contains(&format!("\"id\":\"{id}\""))), "{}", stderr(&left));
}

#[test]
fn a_data_folder_serves_one_eddy_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let data_dir = folder.path().to_str().unwrap();
    let _dev = Dev::start(folder.path());

    let second = run(&["dev", "--data-dir", data_dir]);
    let reading = run(&["dlq", "list", "--data-dir", data_dir]);

    assert_fails(&second, &[data_dir, "in use", "\nhint: "]);
    assert_fails(&reading, &[data_dir, "in use", "\nhint: while `eddy dev` runs on it, name its node with --cluster"]);
}

#[test]
fn a_topic_that_is_missing_is_named_by_every_command_that_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let guard = folder.path().join("guard");
    let dev = Dev::start(&folder.path().join("dev"));
    let elsewhere = ["--set", "source.topic=elsewhere", "--set", "sink.kind=stdout"];

    let produced = dev.ask(&[&["produce", SAMPLE], &elsewhere[..]].concat());
    let started = dev.ask(&[&["run", "--data-dir", guard.to_str().unwrap()], &elsewhere[..]].concat());
    let listed = dev.ask(&[&["dlq", "list"], &elsewhere[..]].concat());

    assert_fails(&produced, &["topic `elsewhere` does not exist", "\nhint: `eddy apply` creates"]);
    assert_fails(&started, &["topic `elsewhere` does not exist", "\nhint: `eddy apply` creates"]);
    assert_fails(&listed, &["topic `elsewhere-dlq` does not exist", "\nhint: `eddy apply` creates"]);
}

#[test]
fn to_run_against_a_cluster_a_sink_must_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let guard = folder.path().join("guard");
    let dev = Dev::start(&folder.path().join("dev"));

    let output = dev.ask(&["run", "--data-dir", guard.to_str().unwrap()]);

    assert_fails(&output, &["the definition names no `sink.url`", "\nhint: "]);
    assert!(!guard.exists(), "nothing is half done");
}

#[test]
fn a_dead_letter_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path());

    let output = dev.ask(&["dlq", "show", "geofence-triggers/0/99"]);

    assert_fails(&output, &["there is no dead letter `geofence-triggers/0/99`", "\nhint: `eddy dlq list`"]);
}

#[test]
fn a_cluster_that_does_not_answer_is_named() {
    for command in [&["apply"][..], &["produce", SAMPLE], &["dlq", "list"], &["run", "--data-dir", "unused"]] {
        let output = eddy().args(command).args(["--cluster", "127.0.0.1:1"]).output().unwrap();

        assert_fails(&output, &["no Fluvio cluster answers at 127.0.0.1:1", "\nhint: check `--cluster HOST:PORT`"]);
    }
}

#[test]
fn the_environment_says_where_the_cluster_is_unless_the_command_line_names_a_place() {
    let empty = tempfile::tempdir().unwrap();
    let data_dir = empty.path().to_str().unwrap();
    let guard = empty.path().join("guard");
    let id = "geofence-triggers/0/6";
    let from_environment = |args: &[&str]| eddy().args(args).env("EDDY_CLUSTER", "127.0.0.1:1").output().unwrap();

    let run = ["run", "--data-dir", guard.to_str().unwrap()];
    for command in [&["apply"][..], &["produce", SAMPLE], &run, &["dlq", "list"], &["dlq", "show", id]] {
        assert_fails(&from_environment(command), &["no Fluvio cluster answers at 127.0.0.1:1"]);
        let named = from_environment(&[command, &["--cluster", "127.0.0.1:2"]].concat());
        assert_fails(&named, &["no Fluvio cluster answers at 127.0.0.1:2"]);
    }
    for command in [&["dlq", "list"][..], &["dlq", "show", id]] {
        let in_folder = from_environment(&[command, &["--data-dir", data_dir]].concat());
        assert_fails(&in_folder, &["is no data folder of eddy dev"]);
        let nowhere = eddy().args(command).output().unwrap();
        assert_eq!(nowhere.status.code(), Some(2), "{}", stderr(&nowhere));
    }
}

#[test]
fn what_keeps_a_run_from_being_reported_is_told_before_the_run() {
    let output = run(&["dev", "--input", SAMPLE, "--until-resolved", "--report", "/no/such/folder/report.json"]);

    assert_fails(&output, &["cannot write the report to /no/such/folder/report.json"]);
    assert!(!stderr(&output).contains("node "), "nothing was started: {}", stderr(&output));
}

#[test]
fn an_input_that_cannot_be_read_is_named_before_anything_is_started() {
    let fed = run(&["dev", "--input", "/no/such/input"]);
    let produced = run(&["produce", "/no/such/input", "--cluster", "127.0.0.1:1"]);

    assert_fails(&fed, &["cannot read /no/such/input"]);
    assert_fails(&produced, &["cannot read /no/such/input"]);
}

#[test]
fn folders_that_cannot_be_used_are_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below_a_file = file.path().join("data");
    let empty = tempfile::tempdir().unwrap();

    let dev = run(&["dev", "--data-dir", below_a_file.to_str().unwrap()]);
    let listed = run(&["dlq", "list", "--data-dir", empty.path().to_str().unwrap()]);

    assert_fails(&dev, &["cannot make the data folder", below_a_file.to_str().unwrap()]);
    assert_fails(&listed, &[empty.path().to_str().unwrap(), "is no data folder of eddy dev"]);
}

#[test]
fn a_small_run_is_reported_to_a_person_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let (input, json) = (folder.path().join("input"), folder.path().join("report.json"));
    let sample = std::fs::read(SAMPLE).unwrap();
    let lines: Vec<&[u8]> = sample.split(|byte| *byte == b'\n').take(7).collect();
    std::fs::write(&input, lines.join(&b'\n')).unwrap();

    let output = eddy()
        .args(["dev", "--until-resolved", "--set", "retry.tiers=100ms,200ms,400ms", "--input"])
        .arg(&input)
        .arg("--report")
        .arg(&json)
        .output()
        .unwrap();

    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("in                                7\n"), "{text}");
    assert!(text.contains("\n  invalid_json                    1\n"), "{text}");
    assert!(text.ends_with("\nconserved: yes\n"), "{text}");
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(report["in"], 7, "{report:#}");
    assert_eq!(report["conserved"], true, "{report:#}");
    assert!(report["tier_records"]["100ms"].is_u64(), "{report:#}");
}

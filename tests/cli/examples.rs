//! Every example in a help text or the README is a command that eddy understands, with a definition that is good.

use clap::{CommandFactory, Parser};
use eddy::cli::Cli;

/// The `eddy …` command lines in a text: one for each program of a pipe, without redirections and comments. The
/// README starts eddy through cargo once.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("cargo run --locked --", "eddy");
    let programs = text.lines().filter(|line| !line.starts_with("error:")).flat_map(|line| line.split(['|', '&']));
    let words = programs.map(|program| program.split_whitespace().take_while(|word| !["#", ">"].contains(word)));
    let without_variables =
        words.map(|words| words.skip_while(|word| word.starts_with("EDDY_") || word.starts_with("EDITOR=")));
    let owned = without_variables.map(|words| words.map(str::to_owned).collect::<Vec<_>>());
    owned.filter(|words| words.first().is_some_and(|program| program == "eddy")).collect()
}

fn examples_of_help(command: &clap::Command) -> Vec<Vec<String>> {
    let own = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let below = command.get_subcommands().flat_map(examples_of_help);
    command_lines(&own).into_iter().chain(below).collect()
}

fn examples_of_readme() -> Vec<Vec<String>> {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let blocks = readme.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(command_lines).collect()
}

fn not_understood(examples: &[Vec<String>]) -> Vec<String> {
    examples.iter().filter_map(|words| Cli::try_parse_from(words).err()).map(|error| error.to_string()).collect()
}

/// What `eddy check` has against the `--set` flags of the examples. Those of `eddy dlq repair` are about payloads.
fn bad_definitions(examples: &[Vec<String>]) -> Vec<String> {
    let flags = |words: &Vec<String>| -> Vec<String> {
        let pairs = words.windows(2).filter(|pair| pair[0] == "--set");
        pairs.flat_map(|pair| pair.to_vec()).collect()
    };
    let of_definitions = examples.iter().filter(|words| !words.iter().any(|word| word == "repair"));
    let checked = of_definitions.map(flags).map(|flags| {
        let output = crate::eddy().arg("check").args(&flags).output().unwrap();
        (output.status.success(), format!("{flags:?}: {}", crate::stderr(&output)))
    });
    checked.filter(|(is_good, _)| !is_good).map(|(_, said)| said).collect()
}

#[test]
fn every_example_in_a_help_text_can_be_run_as_it_is_written() {
    let examples = examples_of_help(&Cli::command());

    assert!(examples.len() > 15, "{examples:#?}");
    assert_eq!(not_understood(&examples), [""; 0]);
    assert_eq!(bad_definitions(&examples), [""; 0]);
}

#[test]
fn every_eddy_command_in_the_readme_can_be_run_as_it_is_written() {
    let examples = examples_of_readme();

    assert!(examples.len() > 4, "{examples:#?}");
    assert_eq!(not_understood(&examples), [""; 0]);
    assert_eq!(bad_definitions(&examples), [""; 0]);
}

//! The layers, on a definition small enough to see.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Deserializer};

use super::*;

const DEFAULT: &str = r#"
source = "triggers"
[retry]
ceiling = 3
tiers = ["5s", "30s"]
[sink]
kind = "webhook"
url = "http://localhost"
verify = true
ratio = 0.5
[sink.headers]
"#;

#[derive(Debug, Deserialize)]
struct Definition {
    source: String,
    retry: Retry,
    sink: Sink,
}

#[derive(Debug, Deserialize)]
struct Retry {
    ceiling: u32,
    tiers: Vec<Delay>,
}

#[derive(Debug, Deserialize)]
struct Sink {
    kind: Kind,
    url: String,
    verify: bool,
    ratio: f64,
    token_env: Option<String>,
    limit: Option<u16>,
    headers: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Webhook,
    Stdout,
}

#[derive(Debug, PartialEq)]
struct Delay(Duration);

impl<'de> Deserialize<'de> for Delay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (number, unit_ms) = match text.strip_suffix("ms") {
            Some(number) => (number, 1),
            None => (text.strip_suffix('s').unwrap_or_default(), 1000),
        };
        let number: u64 = number.parse().map_err(|_| serde::de::Error::custom(format!("`{text}` is no duration")))?;
        Ok(Self(Duration::from_millis(number * unit_ms)))
    }
}

/// A run with this file, these variables and these flags: the definition, or what is said about the mistakes.
fn run(file: &str, variables: &[(&str, &str)], flags: &[&str]) -> Result<Definition, Vec<String>> {
    let (folder, path) = folder_with("eddy.toml", file);
    let overrides = Overrides {
        file: Some(path),
        variables: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
    };
    let before_the_name = format!("{}/", folder.path().display());
    load(DEFAULT, &overrides)
        .map_err(|mistakes| mistakes.0.iter().map(|m| m.to_string().replace(&before_the_name, "")).collect())
}

fn folder_with(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn delays(texts_ms: &[u64]) -> Vec<Delay> {
    texts_ms.iter().map(|&ms| Delay(Duration::from_millis(ms))).collect()
}

#[test]
fn without_overrides_the_default_definition_counts() {
    let definition = run("", &[], &[]).unwrap();

    assert_eq!(definition.source, "triggers");
    assert_eq!(definition.retry.ceiling, 3);
    assert_eq!(definition.retry.tiers, delays(&[5_000, 30_000]));
    assert_eq!(definition.sink.kind, Kind::Webhook);
    assert!(definition.sink.verify);
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let file = "source = 'from-file'\n[sink]\nurl = 'from-file'\n[retry]\nceiling = 1";
    let variables = [("EDDY_SINK__URL", "from-env"), ("EDDY_RETRY__CEILING", "2")];

    let definition = run(file, &variables, &["retry.ceiling=7"]).unwrap();

    assert_eq!(definition.source, "from-file");
    assert_eq!(definition.sink.url, "from-env");
    assert_eq!(definition.retry.ceiling, 7);
}

#[test]
fn of_two_flags_the_later_counts() {
    let definition = run("", &[], &["source=one", "source=two"]).unwrap();

    assert_eq!(definition.source, "two");
}

#[test]
fn a_table_in_the_file_leaves_its_other_keys_as_they_were() {
    let definition = run("[sink]\nverify = false", &[], &[]).unwrap();

    assert!(!definition.sink.verify);
    assert_eq!(definition.sink.url, "http://localhost");
}

#[test]
fn text_from_a_flag_becomes_what_the_key_wants() {
    let flags = [
        "retry.tiers=200ms, 400ms",
        "sink.verify=false",
        "sink.ratio=0.25",
        "sink.kind=stdout",
        "sink.limit=8080",
        "sink.url=123",
        "sink.headers={ x-team = \"geo\" }",
    ];

    let definition = run("", &[], &flags).unwrap();

    assert_eq!(definition.retry.tiers, delays(&[200, 400]));
    assert!(!definition.sink.verify);
    assert!((definition.sink.ratio - 0.25).abs() < f64::EPSILON);
    assert_eq!(definition.sink.kind, Kind::Stdout);
    assert_eq!(definition.sink.limit, Some(8080));
    assert_eq!(definition.sink.url, "123", "a text that looks like a number stays text where text is wanted");
    assert_eq!(definition.sink.headers["x-team"], "geo");
}

#[test]
fn an_array_can_be_set_as_toml_too() {
    let definition = run("", &[], &[r#"retry.tiers=["200ms","400ms"]"#]).unwrap();

    assert_eq!(definition.retry.tiers, delays(&[200, 400]));
}

#[test]
fn an_array_can_be_set_empty() {
    assert_eq!(run("", &[], &["retry.tiers="]).unwrap().retry.tiers, delays(&[]));
    assert_eq!(run("", &[], &["retry.tiers=[]"]).unwrap().retry.tiers, delays(&[]));
}

#[test]
fn a_value_may_hold_an_equals_sign() {
    let definition = run("", &[], &["sink.url=http://h/?a=b"]).unwrap();

    assert_eq!(definition.sink.url, "http://h/?a=b");
}

#[test]
fn a_key_that_only_the_types_know_can_be_set() {
    let definition = run("", &[("EDDY_SINK__TOKEN_ENV", "TOKEN")], &[]).unwrap();

    assert_eq!(definition.sink.token_env.as_deref(), Some("TOKEN"));
}

#[test]
fn variables_that_are_no_part_of_the_definition_are_let_be() {
    let variables = [("EDDY_TEST_CLUSTER", "x"), ("EDDY_LOG", "debug"), ("EDDYSTONE", "x"), ("PATH", "/bin")];

    run("", &variables, &[]).unwrap();
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest_name_and_the_layer() {
    assert_eq!(
        run("[sink]\nulr = 'x'", &[], &[]).unwrap_err(),
        ["`sink.ulr` in eddy.toml is not a key; did you mean `sink.url`?"]
    );
    assert_eq!(
        run("", &[("EDDY_RETRY__CIELING", "3")], &[]).unwrap_err(),
        ["`retry.cieling` in EDDY_RETRY__CIELING is not a key; did you mean `retry.ceiling`?"]
    );
    assert_eq!(run("", &[], &["sinks.url=x"]).unwrap_err(), ["`sinks` in --set is not a key; did you mean `sink`?"]);
}

#[test]
fn an_unknown_key_unlike_any_other_is_answered_with_the_keys_there_are() {
    assert_eq!(
        run("[retry]\nqqq = 1", &[], &[]).unwrap_err(),
        ["`retry.qqq` in eddy.toml is not a key; the keys there are retry.ceiling, retry.tiers"]
    );
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_its_layer() {
    assert_eq!(
        run("[retry]\nceiling = 'many'", &[], &[]).unwrap_err(),
        ["`retry.ceiling` in eddy.toml cannot be used: invalid type: string \"many\", expected u32"]
    );
    assert_eq!(
        run("", &[("EDDY_RETRY__CEILING", "many")], &[]).unwrap_err(),
        ["`retry.ceiling` in EDDY_RETRY__CEILING cannot be used: invalid value: string \"many\", expected u32"]
    );
    assert_eq!(
        run("", &[], &["retry.tiers=5s,soon"]).unwrap_err(),
        ["`retry.tiers[1]` in --set cannot be used: `soon` is no duration"]
    );
    assert_eq!(
        run("", &[], &["sink.kind=webhok"]).unwrap_err(),
        ["`sink.kind` in --set cannot be used: `webhok` is none of webhook, stdout; did you mean `webhook`?"]
    );
}

#[test]
fn all_mistakes_of_all_layers_are_reported_at_once() {
    let file = "sorce = 'x'\n[retry]\nceiling = -1\n[sink]\nverify = 'yes'";

    let mistakes = run(file, &[("EDDY_SINK__LIMIT", "99999"), ("EDDY_NOPE", "1")], &["retry.tiers=x", "novalue"]);

    let mut places: Vec<String> =
        mistakes.unwrap_err().iter().map(|text| text.split(" c").next().unwrap().to_owned()).collect();
    places.sort();
    assert_eq!(
        places,
        [
            "`--set novalue` is not of the form path=value",
            "`nope` in EDDY_NOPE is not a key; the keys there are source, retry, sink",
            "`retry.ceiling` in eddy.toml",
            "`retry.tiers[0]` in --set",
            "`sink.limit` in EDDY_SINK__LIMIT",
            "`sink.verify` in eddy.toml",
            "`sorce` in eddy.toml is not a key; did you mean `source`?",
        ]
    );
}

#[test]
fn a_value_where_a_table_belongs_is_a_mistake_of_that_value() {
    let mistakes = run("sink = 5", &[], &[]).unwrap_err();

    assert_eq!(mistakes.len(), 1);
    assert!(mistakes[0].starts_with("`sink` in eddy.toml cannot be used: invalid type: integer `5`"), "{mistakes:?}");
}

#[test]
fn a_file_that_is_not_toml_is_shown_with_its_line() {
    let mistakes = run("source = 'a'\nsink = = 3", &[], &[]).unwrap_err();

    assert_eq!(mistakes.len(), 1);
    assert!(mistakes[0].contains("the definition eddy.toml is not TOML"), "{mistakes:?}");
    assert!(mistakes[0].contains("line 2"), "{mistakes:?}");
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let overrides = Overrides { file: Some("/no/such/eddy.toml".into()), ..Overrides::default() };

    let mistakes = load::<Definition>(DEFAULT, &overrides).unwrap_err();

    assert!(mistakes.to_string().contains("/no/such/eddy.toml cannot be read"), "{mistakes}");
}

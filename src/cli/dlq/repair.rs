//! `eddy dlq repair`: other bytes for a letter that these bytes keep from being delivered.

use std::{path::PathBuf, process::ExitCode};

use anyhow::{Context, ensure};
use eddy_contract::{Envelope, Header, RecordId, RecordView};
use eddy_topology::letters::{
    repair::{self, repair},
    set::{self, set},
};

use super::view;
use crate::{
    cli::{
        DefinitionArgs,
        desk::{ByArgs, Desk, Kind},
        letters::{self as read, Found},
        place::Place,
    },
    letters, modules,
    output::{Hint, Printer},
};

/// Changes the payload of an open dead letter
///
/// Writes a new revision that keeps the bytes that the producer sent, says who, and is delivered in place of the old one by
/// the next replay. A payload that `validate` would dead-letter again is refused unless forced.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq repair geofence-triggers/0/17 --set lat=52.52 --cluster localhost:9003
  eddy dlq repair geofence-triggers/0/17 --set transition=ENTER --set fence_id=depot-3 --data-dir ./eddy-data
  EDITOR=vi eddy dlq repair geofence-triggers/0/17 --edit --data-dir ./eddy-data")]
pub struct Args {
    /// Which letter: topic/partition/offset, as `eddy dlq list` prints it.
    #[arg(value_name = "ID")]
    id: RecordId,
    #[command(flatten)]
    change: Change,
    /// Takes a payload that is not valid, too.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    by: ByArgs,
    #[command(flatten)]
    place: Place,
    /// The new revision as one line of JSON.
    #[arg(long)]
    json: bool,
    /// A file that says what differs from the default definition. `--set` is about the payload here.
    #[arg(long, value_name = "FILE", env = "EDDY_CONFIG", help_heading = "Definition")]
    config: Option<PathBuf>,
}

/// What to change.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Change {
    /// Sets one value of a JSON payload; a value that is no JSON is a text. May be given again.
    #[arg(long, value_name = "PATH=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Opens the payload in $VISUAL or $EDITOR.
    #[arg(long)]
    edit: bool,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("it has no `=`: PATH=VALUE, as in lat=52.52")?;
    Ok((path.to_owned(), value.to_owned()))
}

pub(super) async fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let definition = DefinitionArgs { config: args.config.clone(), set: Vec::new() };
    let desk = Desk::open(&args.place, &definition, args.json, printer).await?;
    let letters = desk.letters(Kind::Dead).await?;
    let Found { partition, key, envelope } = read::one(&desk, Kind::Dead, &letters, &args.id).await?;

    let payload = changed(&args.change, envelope.payload().unwrap_or_default()).await?;
    let repaired = judged(&desk, key.as_deref(), envelope, payload, args)?;
    let entry = (key, repaired.encode().into());
    letters::append(&desk.writer(), desk.topic(Kind::Dead), [(partition, entry)])
        .await
        .hint("look at it with `eddy dlq show`")?;

    printer.say(format_args!("{} is at revision {} now, by {}", args.id, repaired.revision, args.by.by().actor));
    if desk.json {
        printer.data(view::json_line(&repaired))?;
    }
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

/// The new revision, if `validate` has nothing against it.
fn judged(
    desk: &Desk,
    key: Option<&[u8]>,
    letter: Envelope,
    payload: Vec<u8>,
    args: &Args,
) -> anyhow::Result<Envelope> {
    let params = modules::validate_params(desk.topology.modules())?;
    let view = RecordView {
        key,
        value: &payload,
        offset: letter.origin.offset,
        timestamp_ms: letter.origin.timestamp_ms.unwrap_or(-1),
    };
    let mut output = Vec::new();
    eddy_validate::judge(view, &params, &mut output);
    let (header, _) = Header::decode(&output).context("validate broke its contract")?;
    let repaired = repair(letter, payload.clone(), &header, &desk.topology, &args.by.by(), args.force);
    let hint = match &repaired {
        Err(repair::Error::Invalid { .. }) => Some("--force takes it as it is"),
        Err(repair::Error::Closed(_)) => Some("only open letters are replayed, so only these are repaired"),
        Ok(_) | Err(_) => None,
    };
    let repaired = repaired.with_context(|| format!("cannot repair `{}`", args.id));
    match hint {
        Some(hint) => repaired.hint(hint),
        None => repaired,
    }
}

/// The payload after the change.
async fn changed(change: &Change, payload: &[u8]) -> anyhow::Result<Vec<u8>> {
    if change.edit {
        return edited(payload).await;
    }
    let mut payload = payload.to_vec();
    for (path, value) in &change.set {
        let after = set(&payload, path, value);
        let hint = match after {
            Err(set::Error::NotJson) => "--edit opens it as it is",
            Ok(_) | Err(_) => "PATH is a name, or names of objects with dots between them: lat, position.lat",
        };
        payload = after.with_context(|| format!("cannot set `{path}`")).hint(hint)?;
    }
    Ok(payload)
}

/// The payload after a person had it in an editor.
async fn edited(payload: &[u8]) -> anyhow::Result<Vec<u8>> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(|name| std::env::var(name).ok().filter(|e| !e.is_empty()));
    let editor = editor.context("no editor is named").hint("set EDITOR, or use --set PATH=VALUE")?;
    let file = tempfile::Builder::new().prefix("eddy-").suffix(".json").tempfile()?;
    std::fs::write(file.path(), payload)?;
    // Through a shell, because editors come with flags: EDITOR='code --wait'.
    let mut command = tokio::process::Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("eddy").arg(file.path());
    let status = command.status().await.with_context(|| format!("cannot start `{editor}`"))?;
    ensure!(status.success(), "`{editor}` ended with {status}: nothing was changed");
    let mut edited = std::fs::read(file.path()).context("the edited file cannot be read")?;
    // Editors end a file with a line break that nobody wrote.
    if edited.last() == Some(&b'\n') && payload.last() != Some(&b'\n') {
        edited.pop();
    }
    Ok(edited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_is_split_at_its_first_equals_sign() {
        assert_eq!(assignment("a.b=c=d"), Ok(("a.b".into(), "c=d".into())));
        assert!(assignment("lat").unwrap_err().contains("PATH=VALUE"));
    }
}

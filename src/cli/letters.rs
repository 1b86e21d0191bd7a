//! Reading letters, dead or parked: the topics differ, what is printed does not.

use std::{io::Write, process::ExitCode};

use anyhow::Context;
use bytes::Bytes;
use eddy_contract::{Envelope, RecordId};
use eddy_topology::{
    filter::Filter,
    letters::{Letter, Letters},
};

use super::{
    desk::{Desk, DeskArgs, Kind, now_ms},
    dlq::view,
};
use crate::{
    letters,
    output::{Hint, Printer},
};

/// Prints the open letters that the filter means.
///
/// # Errors
/// When they cannot be read or printed.
pub async fn list(desk: &Desk, kind: Kind, letters: &Letters, filter: &Filter) -> anyhow::Result<()> {
    let mut meant = letters.matching(filter).peekable();
    if desk.json {
        export(desk, kind, meant).await?;
    } else if meant.peek().is_some() {
        desk.printer.data(view::table(meant.map(|letter| &letter.envelope), now_ms()))?;
    } else if filter.is_everything() {
        desk.printer.say(format_args!("no open {} letters", kind.as_str()));
    } else {
        desk.printer.say(format_args!("no open {} letter is as the filter says", kind.as_str()));
    }
    Ok(())
}

/// Prints whole envelopes, one a line, as they come out of the log.
///
/// # Errors
/// When they cannot be read or printed.
pub async fn export<'a>(desk: &Desk, kind: Kind, letters: impl IntoIterator<Item = &'a Letter>) -> anyhow::Result<()> {
    let mut out = desk.printer.stream();
    let mut printed = Ok(());
    letters::records(desk.cluster(), desk.topic(kind), letters, |_, record| {
        // A reader that went away is reported once; what is left is read for nobody.
        if printed.is_ok() {
            printed = write_line(&mut out, &record.value);
        }
    })
    .await?;
    Ok(printed.and_then(|()| out.flush())?)
}

/// The envelope as it stands in the log, which is one line unless others have written it.
fn write_line(out: &mut impl Write, json: &[u8]) -> std::io::Result<()> {
    let others = Some(json).filter(|json| json.contains(&b'\n')).and_then(|json| Envelope::decode(json).ok());
    match others {
        Some(envelope) => writeln!(out, "{}", view::json_line(&envelope)),
        None => out.write_all(json).and_then(|()| out.write_all(b"\n")),
    }
}

/// Which letter, and how to show it.
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// Where the record came from: topic/partition/offset, as `list` prints it.
    #[arg(value_name = "ID")]
    pub id: RecordId,
    #[command(flatten)]
    pub desk: DeskArgs,
}

/// Prints one letter, open or closed.
///
/// # Errors
/// When it does not exist or cannot be read or printed.
pub async fn show(args: &ShowArgs, kind: Kind, printer: Printer) -> anyhow::Result<ExitCode> {
    let desk = args.desk.open(printer).await?;
    let letters = desk.letters(kind).await?;
    let found = one(&desk, kind, &letters, &args.id).await?;
    let render = if desk.json { view::json_line } else { view::show };
    desk.printer.data(render(&found.envelope))?;
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

/// One letter as the log has it.
pub struct Found {
    /// Of the letter's topic.
    pub partition: u32,
    /// The record's; null is not empty.
    pub key: Option<Bytes>,
    /// Payload included, and who closed it if somebody did.
    pub envelope: Envelope,
}

/// Reads one letter.
///
/// # Errors
/// When it does not exist or cannot be read.
pub async fn one(desk: &Desk, kind: Kind, letters: &Letters, id: &RecordId) -> anyhow::Result<Found> {
    let letter = letters.get(id).ok_or_else(|| anyhow::anyhow!("there is no {} letter `{id}`", kind.as_str()));
    let letter = letter.hint(format!("`eddy {} list` names the open ones", kind.command()))?;
    let mut found = None;
    letters::records(desk.cluster(), desk.topic(kind), [letter], |_, record| found = Some(record)).await?;
    let read = found.and_then(|record| Some((record.key, Envelope::decode(&record.value).ok()?)));
    let (key, envelope) = read.context("retention has just removed it")?;
    let Envelope { actor, note, .. } = letter.envelope.clone();
    let envelope = Envelope { resolution: letter.resolution, actor, note, ..envelope };
    Ok(Found { partition: letter.partition, key, envelope })
}

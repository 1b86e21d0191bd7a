//! Reading letters, dead or parked: the topics differ, what is printed does not.

use std::{io::Write, process::ExitCode};

use anyhow::Context;
use eddy_contract::{Envelope, RecordId};
use eddy_topology::{
    letters::{Letter, Letters},
    names::TopicName,
};

use super::{
    desk::{Desk, now_ms},
    dlq::view,
    filter::FilterArgs,
};
use crate::{letters, output::Hint};

/// Prints the open letters of a topic that the filter means. `kind` is what they are called.
///
/// # Errors
/// When they cannot be read or printed.
pub async fn list(desk: Desk, topic: &TopicName, filter: &FilterArgs, kind: &str) -> anyhow::Result<ExitCode> {
    let filter = filter.filter(now_ms())?;
    let letters = desk.letters(topic).await?;
    let mut meant = letters.matching(&filter).peekable();
    if desk.json {
        export(&desk, topic, meant).await?;
    } else if meant.peek().is_some() {
        desk.printer.data(view::table(meant.map(|letter| &letter.envelope), now_ms()))?;
    } else if filter.is_everything() {
        desk.printer.say(format_args!("no open {kind} letters"));
    } else {
        desk.printer.say(format_args!("no open {kind} letter is as the filter says"));
    }
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Prints whole envelopes, one a line, as they come out of the log.
///
/// # Errors
/// When they cannot be read or printed.
pub async fn export<'a>(
    desk: &Desk,
    topic: &TopicName,
    letters: impl IntoIterator<Item = &'a Letter>,
) -> anyhow::Result<()> {
    let mut out = desk.printer.stream();
    let mut printed = Ok(());
    letters::records(desk.cluster(), topic, letters, |_, record| {
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

/// Prints one letter of a topic, open or closed. `kind` is what it is called.
///
/// # Errors
/// When it does not exist or cannot be read or printed.
pub async fn show(desk: Desk, topic: &TopicName, id: &RecordId, kind: &str) -> anyhow::Result<ExitCode> {
    let letters = desk.letters(topic).await?;
    let (_, envelope) = one(&desk, topic, &letters, id, kind).await?;
    let render = if desk.json { view::json_line } else { view::show };
    desk.printer.data(render(&envelope))?;
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

/// One letter with its payload, and with who closed it if somebody did.
///
/// # Errors
/// When it does not exist or cannot be read.
pub async fn one<'a>(
    desk: &Desk,
    topic: &TopicName,
    letters: &'a Letters,
    id: &RecordId,
    kind: &str,
) -> anyhow::Result<(&'a Letter, Envelope)> {
    let letter = letters.get(id).ok_or_else(|| anyhow::anyhow!("there is no {kind} letter `{id}`"));
    let letter =
        letter.hint(format!("`eddy {} list` names the open ones", if kind == "dead" { "dlq" } else { kind }))?;
    let mut found = None;
    letters::whole(desk.cluster(), topic, [letter], |_, envelope| found = Some(envelope)).await?;
    let envelope = found.context("retention has just removed it")?;
    let Envelope { actor, note, .. } = letter.envelope.clone();
    Ok((letter, Envelope { resolution: letter.resolution, actor, note, ..envelope }))
}

//! `eddy dlq discard` and `expire`: decisions that close letters, recorded in the log.

use std::process::ExitCode;

use bytes::Bytes;
use eddy_contract::{Envelope, envelope::Resolution};
use eddy_topology::{
    filter::{Filter, TimeField, Window},
    letters::{
        Letter, Letters, in_log_order,
        resolve::{By, resolution},
    },
    time::Span,
};

use crate::{
    cli::desk::{ByArgs, ConsentArgs, Desk, DeskArgs, Kind, WhichArgs, count, now_ms},
    letters,
    output::{Hint, Printer},
};

/// Letters that are closed with one round to the log.
const AT_ONCE: usize = 10_000;

/// Closes dead letters that nobody will replay
///
/// Nothing is deleted: a record that says who and why closes each. They are no longer listed, counted or replayed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq discard geofence-triggers/0/17 --cluster localhost:9003 --note INC-7
  eddy dlq discard --reason terminal:invalid_json --data-dir ./eddy-data --yes
  eddy dlq discard --all --data-dir ./eddy-data --dry-run")]
pub struct DiscardArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    decision: DecisionArgs,
}

/// Closes dead letters that are too old to be worth a replay
///
/// As discard, with the word `expired` in the record. Retention removes them from the topic later.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq expire --older-than 14d --cluster localhost:9003
  eddy dlq expire --older-than 7d --data-dir ./eddy-data --yes")]
pub struct ExpireArgs {
    /// Dead for at least so long.
    #[arg(long, value_name = "SPAN")]
    older_than: Span,
    #[command(flatten)]
    decision: DecisionArgs,
}

/// What every decision that closes letters needs.
#[derive(Debug, clap::Args)]
struct DecisionArgs {
    #[command(flatten)]
    by: ByArgs,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    desk: DeskArgs,
}

pub(super) async fn discard(args: &DiscardArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    decide(&args.decision, printer, Resolution::Discarded, |letters| args.which.choose(letters)).await
}

pub(super) async fn expire(args: &ExpireArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    decide(&args.decision, printer, Resolution::Expired, |letters| {
        // The window is half-open, and a letter that is exactly as old is old enough.
        let until_ms = now_ms().saturating_sub(args.older_than.as_ms()).saturating_add(1);
        let window = Window { field: TimeField::Quarantined, since_ms: None, until_ms: Some(until_ms) };
        let filter = Filter { window: Some(window), ..Filter::default() };
        Ok(in_log_order(letters.matching(&filter)))
    })
    .await
}

/// Closes the letters that are chosen if the person really wants to.
async fn decide(
    args: &DecisionArgs,
    printer: Printer,
    how: Resolution,
    choose: impl FnOnce(&Letters) -> anyhow::Result<Vec<&Letter>>,
) -> anyhow::Result<ExitCode> {
    let desk = args.desk.open(printer).await?;
    let letters = desk.letters(Kind::Dead).await?;
    let chosen = choose(&letters)?;
    let verb = if how == Resolution::Expired { "expire" } else { "discard" };
    if chosen.is_empty() {
        printer.say("no open dead letter is meant");
    } else if args.consent.given(printer, verb, &count(chosen.len(), Kind::Dead))? {
        let by = args.by.by();
        let closed = close(&desk, Kind::Dead, &chosen, how, &by).await?;
        printer.say(format_args!("{} {} by {}", count(closed.len(), Kind::Dead), how.as_str(), by.actor));
        desk.print_written(&closed)?;
    }
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Appends a resolution for each letter, with the letter's key and in its partition. Gives those that were written; a
/// letter that retention removed meanwhile needs none.
///
/// # Errors
/// When the log cannot be read or does not acknowledge.
pub(in crate::cli) async fn close(
    desk: &Desk,
    kind: Kind,
    letters: &[&Letter],
    how: Resolution,
    by: &By,
) -> anyhow::Result<Vec<Envelope>> {
    let writer = desk.writer();
    let mut closed = Vec::with_capacity(letters.len());
    for chunk in letters.chunks(AT_ONCE) {
        let mut records = Vec::with_capacity(chunk.len());
        letters::records(desk.cluster(), desk.topic(kind), chunk.iter().copied(), |letter, record| {
            let envelope = resolution(&letter.envelope, how, by);
            // A copy of the key, because the slice would keep the whole answer in memory.
            let key = record.key.map(|key| Bytes::copy_from_slice(&key));
            records.push((letter.partition, (key, envelope.encode().into())));
            closed.push(envelope);
        })
        .await?;
        letters::append(&writer, desk.topic(kind), records).await.hint("do it again: what is closed stays closed")?;
    }
    Ok(closed)
}

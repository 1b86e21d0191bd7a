//! `eddy parked`: what replay has set aside for a person.

use std::process::ExitCode;

use eddy_contract::{Envelope, envelope::Resolution};
use eddy_topology::{
    letters::{
        Letter, Letters,
        resolve::{By, unparked},
    },
    time::{Span, Timestamp},
};

use super::{
    desk::{ByArgs, Desk, DeskArgs, Kind, WhichArgs, count, now_ms},
    dlq::{close, view},
    filter::FilterArgs,
    letters,
};
use crate::{
    letters::{append, records},
    output::{Hint, Printer},
};

/// Parked letters that go back with one round to the logs; their payloads are in memory.
const AT_ONCE: usize = 1_000;

/// Reads parked letters and takes them back
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do with parked letters.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    List(ListArgs),
    /// Shows one parked letter, decoded
    #[command(after_help = "\
Examples:
  eddy parked show geofence-triggers/0/17 --cluster localhost:9003")]
    Show(letters::ShowArgs),
    Unpark(UnparkArgs),
}

/// Lists parked letters, and warns when they have waited for too long
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy parked list --cluster localhost:9003
  eddy parked list --data-dir ./eddy-data --age-alarm 2d --json | jq -r .id")]
pub struct ListArgs {
    /// Warns when a letter has been dead for longer.
    #[arg(long, value_name = "SPAN", default_value = "7d")]
    pub age_alarm: Span,
    #[command(flatten)]
    pub filter: FilterArgs,
    #[command(flatten)]
    pub desk: DeskArgs,
}

/// Takes parked letters back to the dead letters, where they can be repaired and replayed
///
/// They are open there as if they had never been replayed, and closed among the parked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy parked unpark geofence-triggers/0/17 --cluster localhost:9003 --note INC-7
  eddy parked unpark --fence depot-3 --data-dir ./eddy-data")]
pub struct UnparkArgs {
    #[command(flatten)]
    pub which: WhichArgs,
    #[command(flatten)]
    pub by: ByArgs,
    #[command(flatten)]
    pub desk: DeskArgs,
}

/// Reads parked letters or takes them back.
///
/// # Errors
/// When they cannot be read or written, or one that was named does not exist.
pub async fn run(args: Args, printer: Printer) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::List(args) => list(&args, printer).await,
        Command::Show(args) => letters::show(&args, Kind::Parked, printer).await,
        Command::Unpark(args) => unpark(&args, printer).await,
    }
}

async fn list(args: &ListArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let filter = args.filter.filter(now_ms())?;
    let desk = args.desk.open(printer).await?;
    let parked = desk.letters(Kind::Parked).await?;
    warn_of_age(&parked, args.age_alarm, printer);
    letters::list(&desk, Kind::Parked, &parked, &filter).await?;
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

fn warn_of_age(parked: &Letters, age_max: Span, printer: Printer) {
    if let Some(overdue) = parked.overdue(Timestamp(now_ms()), age_max) {
        let letters = count(overdue.count, Kind::Parked);
        let since = view::time(overdue.oldest_ms);
        printer.warn(format_args!("{letters} dead for more than {age_max}, the oldest since {since}"));
    }
}

async fn unpark(args: &UnparkArgs, printer: Printer) -> anyhow::Result<ExitCode> {
    let desk = args.desk.open(printer).await?;
    let parked = desk.letters(Kind::Parked).await?;
    let chosen = args.which.choose(&parked)?;
    let by = args.by.by();
    let mut back = 0;
    for chunk in chosen.chunks(AT_ONCE) {
        back += take_back(&desk, chunk, &by).await?;
    }
    printer.say(format_args!("{} back among the dead letters, by {}", count(back, Kind::Parked), by.actor));
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

/// Writes letters to the dead letters, and closes them here once that is acknowledged: a crash between the two leaves a
/// letter in both places, and taking it back again changes nothing.
async fn take_back(desk: &Desk, letters: &[&Letter], by: &By) -> anyhow::Result<usize> {
    let mut back = Vec::with_capacity(letters.len());
    let mut taken = Vec::with_capacity(letters.len());
    records(desk.cluster(), desk.topic(Kind::Parked), letters.iter().copied(), |letter, record| {
        if let Ok(envelope) = Envelope::decode(&record.value) {
            let envelope = unparked(envelope, by);
            back.push((letter.partition, (record.key, envelope.encode().into())));
            taken.push((letter, envelope));
        }
    })
    .await?;
    append(&desk.writer(), desk.topic(Kind::Dead), back).await.hint("do it again: none goes back twice")?;
    let letters: Vec<&Letter> = taken.iter().map(|(letter, _)| *letter).collect();
    close(desk, Kind::Parked, &letters, Resolution::Unparked, by).await?;
    desk.print_written(taken.iter().map(|(_, envelope)| envelope))?;
    Ok(taken.len())
}

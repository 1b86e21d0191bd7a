//! What the commands of the operator's desk share: where the letters are, which are meant, who decides, and whether they
//! really want to.

use std::process::Command;

use anyhow::{Context, ensure};
use eddy_contract::{Envelope, RecordId, envelope::NOTE_BYTES_MAX};
use eddy_topology::{
    letters::{Letter, Letters, in_log_order, resolve::By},
    names::TopicName,
    topology::Topology,
};

use super::{
    DefinitionArgs,
    dlq::view,
    filter::FilterArgs,
    place::{Open, Place},
};
use crate::{
    broker::{self, Writer},
    letters,
    output::{Hint, Printer},
};

/// Where, and in which form to print.
#[derive(Debug, clap::Args)]
pub struct DeskArgs {
    #[command(flatten)]
    pub place: Place,
    /// JSON instead of text, one object a line.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

impl DeskArgs {
    /// Opens the place.
    ///
    /// # Errors
    /// When the definition has mistakes or the place cannot be opened.
    pub async fn open(&self, printer: Printer) -> anyhow::Result<Desk> {
        Desk::open(&self.place, &self.definition, self.json, printer).await
    }
}

/// Which letters a command is about: those of the dead-letter topic, or those of the parked one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Dead,
    Parked,
}

impl Kind {
    /// The word in a sentence.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Parked => "parked",
        }
    }

    /// The command that is about them.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Dead => "dlq",
            Self::Parked => "parked",
        }
    }
}

/// An open place, and how to print.
pub struct Desk {
    pub topology: Topology,
    pub json: bool,
    pub printer: Printer,
    place: Open,
}

impl Desk {
    /// Opens the place.
    ///
    /// # Errors
    /// When the definition has mistakes or the place cannot be opened.
    pub async fn open(
        place: &Place,
        definition: &DefinitionArgs,
        json: bool,
        printer: Printer,
    ) -> anyhow::Result<Self> {
        let topology = definition.topology()?;
        Ok(Self { topology, json, printer, place: place.open().await? })
    }

    /// The cluster there.
    pub fn cluster(&self) -> &broker::Cluster {
        self.place.cluster()
    }

    /// A writer to it.
    pub fn writer(&self) -> Writer {
        Writer::new(self.cluster())
    }

    /// The topic of these letters.
    pub const fn topic(&self, kind: Kind) -> &TopicName {
        let names = self.topology.names();
        match kind {
            Kind::Dead => &names.dlq,
            Kind::Parked => &names.parked,
        }
    }

    /// The letters as they stand.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn letters(&self, kind: Kind) -> Result<Letters, broker::Error> {
        letters::dead_letters(self.cluster(), self.topic(kind)).await
    }

    /// Prints what was written, a line each, for who wants JSON.
    ///
    /// # Errors
    /// When it cannot be printed.
    pub fn print_written<'a>(&self, written: impl IntoIterator<Item = &'a Envelope>) -> std::io::Result<()> {
        if !self.json {
            return Ok(());
        }
        self.printer
            .bulk(|out| written.into_iter().try_for_each(|envelope| writeln!(out, "{}", view::json_line(envelope))))
    }

    /// Stops what was started.
    pub async fn close(self) {
        self.place.close().await;
    }
}

/// Which letters a command that changes something means: some by name, or all that a filter means.
#[derive(Debug, clap::Args)]
pub struct WhichArgs {
    /// Letters by id: topic/partition/offset, as `list` prints it.
    #[arg(value_name = "ID")]
    pub ids: Vec<RecordId>,
    /// Every open letter.
    #[arg(long, conflicts_with = "ids")]
    pub all: bool,
    #[command(flatten)]
    pub filter: FilterArgs,
}

impl WhichArgs {
    /// The letters that are meant, in the order of the log.
    ///
    /// # Errors
    /// When none are named at all, or one that is named is not open.
    pub fn choose<'a>(&self, letters: &'a Letters) -> anyhow::Result<Vec<&'a Letter>> {
        let filter = self.filter.filter(now_ms())?;
        let is_filtered = !filter.is_everything();
        ensure!(self.ids.is_empty() || !is_filtered, "letters are named by id and by a filter: use one of both");
        if !self.ids.is_empty() {
            return Ok(in_log_order(letters.named(&self.ids).hint("`list` prints the open ones")?));
        }
        let is_said = Some(()).filter(|()| is_filtered || self.all).context("no letters are named");
        is_said.hint("name their ids, narrow them down with a filter, or mean every open one with --all")?;
        Ok(in_log_order(letters.matching(&filter)))
    }
}

/// Who decides, and why.
#[derive(Debug, clap::Args)]
pub struct ByArgs {
    /// Who decides; $USER@host when absent.
    #[arg(long, value_name = "NAME")]
    pub actor: Option<String>,
    /// Why, for whoever reads it later; at most 64 bytes.
    #[arg(long, value_name = "TEXT", value_parser = note)]
    pub note: Option<String>,
}

impl ByArgs {
    /// Asks the machine where the person does not say.
    pub fn by(&self) -> By {
        By { actor: self.actor.clone().unwrap_or_else(user_at_host), note: self.note.clone() }
    }
}

fn note(text: &str) -> Result<String, String> {
    if text.len() > NOTE_BYTES_MAX {
        return Err(format!("it has {} bytes, {NOTE_BYTES_MAX} are kept", text.len()));
    }
    Ok(text.to_owned())
}

fn user_at_host() -> String {
    let user =
        ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.is_empty()));
    let unknown = || "unknown".to_owned();
    let user = user.or_else(|| answer("id", "-un")).unwrap_or_else(unknown);
    format!("{user}@{}", answer("uname", "-n").unwrap_or_else(unknown))
}

/// What a program of every Unix says in one line.
fn answer(program: &str, flag: &str) -> Option<String> {
    let output = Command::new(program).arg(flag).output().ok().filter(|output| output.status.success())?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!line.is_empty()).then_some(line)
}

/// Whether to really do it.
#[derive(Debug, clap::Args)]
pub struct ConsentArgs {
    /// Does it without asking.
    #[arg(long)]
    pub yes: bool,
    /// Only says how many letters are meant.
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
}

impl ConsentArgs {
    /// Whether to `verb` that many letters. Says how many they are.
    ///
    /// # Errors
    /// When nobody can be asked and `--yes` is not given.
    pub fn given(&self, printer: Printer, verb: &str, letters: &str) -> anyhow::Result<bool> {
        if self.dry_run {
            printer.say(format_args!("would {verb} {letters}"));
            return Ok(false);
        }
        if self.yes {
            return Ok(true);
        }
        let answer =
            printer.ask(format_args!("{verb} {letters}?"))?.context(format!("cannot ask whether to {verb} {letters}"));
        let given = answer.hint("without a terminal, say --yes; --dry-run only counts")?;
        if !given {
            printer.say("nothing was done");
        }
        Ok(given)
    }
}

/// `1 dead letter`, `38 parked letters`.
pub fn count(number: usize, kind: Kind) -> String {
    format!("{number} {} {}", kind.as_str(), if number == 1 { "letter" } else { "letters" })
}

/// Now, milliseconds since 1970.
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

//! What eddy says, and where: stdout is data, stderr is talk.
//!
//! Nothing else in eddy prints. Data can be piped on; a reader that goes away ends the program quietly. Talk is
//! silenced by `--quiet`, is coloured only on a terminal without `NO_COLOR`, and says the same without colour. A
//! progress line exists only on a terminal.

use std::{
    fmt::Display,
    io::{self, IsTerminal, Write},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tracing_subscriber::EnvFilter;

/// How much eddy talks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Only data and the error that ends the program.
    Quiet,
    #[default]
    Normal,
    /// Details as well.
    Verbose,
}

/// The one thing that prints. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct Printer {
    verbosity: Verbosity,
    /// stderr is a terminal.
    terminal: bool,
    colour: bool,
}

impl Printer {
    /// A printer for this process's stdout and stderr.
    pub fn new(verbosity: Verbosity) -> Self {
        let terminal = io::stderr().is_terminal();
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { verbosity, terminal, colour: terminal && !refused }
    }

    /// Prints one line of data.
    ///
    /// # Errors
    /// When stdout cannot be written; [`is_broken_pipe`] tells the harmless case.
    pub fn data(&self, line: impl Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{line}")
    }

    /// Calls `write` with a buffered stdout, for data in bulk.
    ///
    /// # Errors
    /// As [`Printer::data`].
    pub fn bulk(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
        write(&mut out)?;
        out.flush()
    }

    /// A buffered stdout for data that comes bit by bit. What is not flushed is lost.
    pub fn stream(&self) -> impl Write {
        io::BufWriter::with_capacity(1 << 16, io::stdout())
    }

    /// Asks a person, `--quiet` or not; anything but yes is no. `None` where nobody can answer: stdin or stderr is no
    /// terminal.
    ///
    /// # Errors
    /// When the terminal cannot be read.
    pub fn ask(&self, question: impl Display) -> io::Result<Option<bool>> {
        if !self.terminal || !io::stdin().is_terminal() {
            return Ok(None);
        }
        let mut stderr = io::stderr();
        write!(stderr, "{question} [y/N] ")?;
        stderr.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(Some(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")))
    }

    /// Says what happens.
    pub fn say(&self, text: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.talk(&text);
        }
    }

    /// Says what matters only to a person who looks closely.
    pub fn detail(&self, text: impl Display) {
        if self.verbosity >= Verbosity::Verbose {
            self.talk(&text);
        }
    }

    /// Says what should not be, but does not end the program.
    pub fn warn(&self, text: impl Display) {
        if self.verbosity >= Verbosity::Normal {
            self.talk(&format_args!("{} {text}", self.paint("33", "warning:")));
        }
    }

    /// Says what ended the program, its causes, and what to do about it. Not silenced by `--quiet`.
    pub fn fail(&self, error: &anyhow::Error) {
        self.talk(&format_args!("{} {}", self.paint("1;31", "error:"), causes(error)));
        for hint in error.chain().filter_map(|cause| cause.downcast_ref::<Hinted>()) {
            self.talk(&format_args!("{} {}", self.paint("1;36", "hint:"), hint.hint));
        }
    }

    /// A line that is redrawn in place; hidden when stderr is no terminal, and by `--quiet`.
    pub fn progress(&self) -> Progress {
        let shown = self.terminal && self.verbosity >= Verbosity::Normal;
        let target = if shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("the template is constant and valid");
        bar.set_style(style);
        Progress { bar }
    }

    fn paint(&self, code: &str, word: &str) -> String {
        if self.colour { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() }
    }

    /// Talk that cannot be said is lost: there is no one to tell.
    fn talk(&self, text: &dyn Display) {
        drop(writeln!(io::stderr().lock(), "{text}"));
    }
}

/// The log goes to stderr as well: warnings, more with `--verbose`, and what `EDDY_LOG` asks for (`eddy=debug`).
pub fn log_to_stderr(verbosity: Verbosity) {
    let default = match verbosity {
        Verbosity::Quiet => "error",
        Verbosity::Normal => "warn",
        Verbosity::Verbose => "info,fluvio=warn,fluvio_socket=warn",
    };
    let filter = EnvFilter::try_from_env("EDDY_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    // A program that embeds eddy may have installed its own already; then that one counts.
    drop(subscriber.with_ansi(io::stderr().is_terminal()).try_init());
}

/// A progress line. Gone when it is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Shows `text` in place of what stood there.
    pub fn show(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
        self.bar.tick();
    }

    /// Prints whole lines while the progress line stands aside.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// An error with a word on what to do about it.
#[derive(Debug)]
struct Hinted {
    error: anyhow::Error,
    hint: String,
}

impl Display for Hinted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.error.as_ref())
    }
}

/// Adds a hint to an error.
pub trait Hint<T> {
    /// On failure, tells the person what to do.
    ///
    /// # Errors
    /// The error that was there, with the hint.
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Hint<T> for Result<T, E> {
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| anyhow::Error::new(Hinted { error: error.into(), hint: hint.into() }))
    }
}

/// Whether the error only says that the reader of stdout went away.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}

/// The error and its causes in one line, each said once.
fn causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn broken() -> io::Error {
        io::Error::new(io::ErrorKind::BrokenPipe, "broken pipe")
    }

    #[test]
    fn an_error_is_said_with_its_causes_once_each() {
        let error = Err::<(), _>(io::Error::other("no such port")).context("cannot listen").context("cannot start");

        assert_eq!(causes(&error.unwrap_err()), "cannot start: cannot listen: no such port");
    }

    #[test]
    fn a_hint_does_not_change_what_the_error_says() {
        let error = Err::<(), _>(anyhow::anyhow!("no")).context("cannot start").hint("try again").unwrap_err();

        assert_eq!(causes(&error), "cannot start: no");
        assert_eq!(error.downcast_ref::<Hinted>().unwrap().hint, "try again");
    }

    #[test]
    fn a_broken_pipe_is_found_behind_its_contexts() {
        assert!(is_broken_pipe(&Err::<(), _>(broken()).context("cannot print").unwrap_err()));
        assert!(is_broken_pipe(&Err::<(), _>(broken()).hint("close nothing").unwrap_err()));
        assert!(!is_broken_pipe(&anyhow::anyhow!("broken pipe")));
    }

    #[test]
    fn a_word_is_painted_only_where_colour_is_wanted() {
        let plain = Printer { verbosity: Verbosity::Normal, terminal: false, colour: false };
        let coloured = Printer { colour: true, ..plain };

        assert_eq!(plain.paint("33", "warning:"), "warning:");
        assert_eq!(coloured.paint("33", "warning:"), "\x1b[33mwarning:\x1b[0m");
    }
}

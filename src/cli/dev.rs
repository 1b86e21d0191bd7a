//! `eddy dev`: everything in one process.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::PathBuf,
    process::ExitCode,
};

use anyhow::Context;

use super::{DefinitionArgs, place::Input};
use crate::{
    dev::{self, Options, Report},
    output::Printer,
};

/// Runs the topology on an embedded node, with nothing else installed
///
/// Starts a single-process Fluvio node on 127.0.0.1, creates topics and modules, and runs the host. Unless the
/// definition names a sink, a demo downstream takes the deliveries: most succeed, some fail, some are slow, so that
/// every road is used.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dev --input tests/data/triggers.ndjson --until-resolved --set retry.tiers=1s,2s,4s
  eddy generate --rate 500 --poison-rate 0.01 | eddy dev --input -
  eddy dev --data-dir ./eddy-data        # then: fluvio profile add … and produce to it")]
pub struct Args {
    /// Where the node keeps its logs; a temporary folder, removed at the end, when absent. A run that was killed goes on
    /// with the same folder and input, and feeds nothing twice.
    #[arg(long, value_name = "DIR", env = "EDDY_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Triggers to feed to the source, one JSON object a line; `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub input: Option<Input>,
    /// Ends when every trigger of the input is resolved, and prints the audit. Exit code 1 if one cannot be accounted
    /// for.
    #[arg(long, requires = "input")]
    pub until_resolved: bool,
    /// Writes the audit as JSON.
    #[arg(long, value_name = "FILE", requires = "until_resolved")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub definition: DefinitionArgs,
}

/// Runs, and prints the report if there is one.
///
/// # Errors
/// When something cannot be started, fed or kept running.
pub async fn run(args: Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let options = Options {
        definition: args.definition.definition()?,
        data_dir: args.data_dir,
        input: args.input.as_ref().map(Input::open).transpose()?,
        until_resolved: args.until_resolved,
    };
    let report_file = args.report.map(ReportFile::open).transpose()?;
    let Some(report) = dev::run(options, printer).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    printer.data(&report)?;
    if let Some(file) = report_file {
        file.write(&report)?;
    }
    Ok(if report.conserved() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the report goes. It is opened before the run, which may take hours, and keeps what it holds until the run's end.
struct ReportFile {
    path: PathBuf,
    file: File,
}

impl ReportFile {
    fn open(path: PathBuf) -> anyhow::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.with_context(|| format!("cannot write the report to {}", path.display()))?;
        Ok(Self { path, file })
    }

    fn write(mut self, report: &Report) -> anyhow::Result<()> {
        let write = |file: &mut File| {
            // A pipe or a terminal has nothing to cut off.
            if file.metadata()?.is_file() {
                file.set_len(0)?;
            }
            serde_json::to_writer_pretty(&mut *file, report)?;
            file.write_all(b"\n")
        };
        write(&mut self.file).with_context(|| format!("cannot write the report to {}", self.path.display()))
    }
}

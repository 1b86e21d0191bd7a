//! The `eddy` program: parse, run, exit. Everything else is in the library.

use std::process::ExitCode;

use clap::Parser;
use eddy::{
    cli::Cli,
    output::{self, Printer},
};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before Fluvio's client installs its own. The error only says that one is installed.
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());

    let cli = Cli::parse();
    let printer = Printer::new(cli.verbosity());
    output::log_to_stderr(cli.verbosity());
    match cli.run(printer) {
        Ok(code) => code,
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            printer.fail(&error);
            ExitCode::FAILURE
        }
    }
}

//! The definition of a run: the flags that name and change it, and everything that can be wrong with it.
//!
//! Whatever does not need a cluster to be noticed is noticed here, by every command and before anything is started: the
//! values, the modules' parameters, the sink's options.

use std::path::PathBuf;

use eddy_topology::{
    builder,
    definition::{DEFAULT, Definition},
    topology::Topology,
};

use crate::{
    config::{self, Mistakes, Overrides},
    modules,
    output::Hint,
    sinks,
};

/// What to do about a mistake in a definition.
const HINT: &str = "`eddy check` looks at a definition alone; topology/geofence.toml documents every key";

/// The definition and what changes it, for every command that needs one.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Definition")]
pub struct DefinitionArgs {
    /// A file that says what differs from the default definition.
    #[arg(long, value_name = "FILE", env = "EDDY_CONFIG")]
    pub config: Option<PathBuf>,
    /// Sets one key of the definition, over file and environment. May be given again.
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
}

/// A value of a definition that makes no sense.
#[derive(Debug, thiserror::Error)]
enum Mistake {
    #[error(transparent)]
    Value(#[from] builder::Error),
    #[error(transparent)]
    Params(#[from] modules::ParamsError),
    #[error(transparent)]
    Sink(#[from] sinks::OpenError),
}

impl Mistake {
    const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Sink(error) => error.hint(),
            Self::Value(_) | Self::Params(_) => None,
        }
    }
}

impl DefinitionArgs {
    /// The definition of this run, free of mistakes.
    ///
    /// # Errors
    /// Every mistake in file, environment and flags; then every value that makes no sense.
    pub fn definition(&self) -> anyhow::Result<Definition> {
        let definition = self.load()?;
        checked(&definition)?;
        Ok(definition)
    }

    /// The topology that the definition amounts to.
    ///
    /// # Errors
    /// As [`DefinitionArgs::definition`].
    pub fn topology(&self) -> anyhow::Result<Topology> {
        checked(&self.load()?)
    }

    fn load(&self) -> anyhow::Result<Definition> {
        let overrides = Overrides::from_process(self.config.clone(), self.set.clone());
        config::load(DEFAULT, &overrides).hint(HINT)
    }
}

/// The topology of a definition whose modules and sink can be opened with what it says of them.
fn checked(definition: &Definition) -> anyhow::Result<Topology> {
    let mut mistakes: Vec<Mistake> = Vec::new();
    mistakes.extend(modules::validate_params(&definition.modules).err().map(Mistake::from));
    mistakes.extend(modules::classify_params(&definition.modules).err().map(Mistake::from));
    match Topology::try_new(definition) {
        Ok(topology) => {
            mistakes.extend(sinks::check(&topology).err().map(Mistake::from));
            if mistakes.is_empty() {
                return Ok(topology);
            }
        }
        Err(builder::Errors(errors)) => mistakes.extend(errors.into_iter().map(Mistake::from)),
    }
    let hint = mistakes.iter().find_map(Mistake::hint).unwrap_or(HINT);
    Err(Mistakes(mistakes)).hint(hint)
}

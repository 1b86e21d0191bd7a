//! A value that may be used and never shown.

use std::{fmt, path::Path};

/// A secret read from the environment or a file. It has no `Display`, and its `Debug` does not print it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a secret is not there. Names its place, never its content.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("the variable {0}, which should hold a secret, is not set")]
    VariableNotSet(String),
    #[error("the variable {0}, which should hold a secret, is not UTF-8")]
    VariableNotUtf8(String),
    #[error("{place}, which should hold a secret, is empty")]
    Empty { place: String },
    #[error("{path}, which should hold a secret, cannot be read")]
    File { path: String, source: std::io::Error },
}

impl Secret {
    /// The value of a variable (the keys that end in `_env`).
    ///
    /// # Errors
    /// When it is not set, not UTF-8, or empty.
    pub fn from_env(variable: &str) -> Result<Self, SecretError> {
        let value = std::env::var(variable).map_err(|error| match error {
            std::env::VarError::NotPresent => SecretError::VariableNotSet(variable.to_owned()),
            std::env::VarError::NotUnicode(_) => SecretError::VariableNotUtf8(variable.to_owned()),
        })?;
        Self::try_new(value, || variable.to_owned())
    }

    /// The content of a file without the line break at its end (the keys that end in `_file`).
    ///
    /// # Errors
    /// When it cannot be read as UTF-8, or is empty.
    pub fn from_file(path: &Path) -> Result<Self, SecretError> {
        let place = || path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| SecretError::File { path: place(), source })?;
        Self::try_new(text.trim_end_matches(['\r', '\n']).to_owned(), place)
    }

    fn try_new(value: String, place: impl FnOnce() -> String) -> Result<Self, SecretError> {
        if value.is_empty() { Err(SecretError::Empty { place: place() }) } else { Ok(Self(value)) }
    }

    /// The secret itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_never_printed() {
        let secret = Secret::try_new("hunter2".to_owned(), || unreachable!()).unwrap();

        assert_eq!(format!("{secret:?}"), "Secret(…)");
        assert_eq!(secret.expose(), "hunter2");
    }

    #[test]
    fn a_secret_in_a_file_ends_before_its_line_break() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter2\n").unwrap();

        assert_eq!(Secret::from_file(file.path()).unwrap().expose(), "hunter2");
    }

    #[test]
    fn an_empty_secret_names_its_place() {
        let file = tempfile::NamedTempFile::new().unwrap();

        let error = Secret::from_file(file.path()).unwrap_err();

        assert!(error.to_string().contains(file.path().to_str().unwrap()), "{error}");
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let error = Secret::from_env("A_SECRET_THAT_NOBODY_SETS").unwrap_err();

        assert!(error.to_string().contains("A_SECRET_THAT_NOBODY_SETS"), "{error}");
    }
}

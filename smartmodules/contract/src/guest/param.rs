//! Parameters of modules: texts by name, as Fluvio hands them over.

/// Why a module refuses its parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("parameter `{0}` is not known")]
    Unknown(String),
    #[error("parameter `{name}` is `{value}`, not {expected}")]
    Invalid { name: String, value: String, expected: &'static str },
    #[error("status {0} stands in both lists")]
    Contradiction(u16),
}

/// Reads the value of one parameter.
///
/// # Errors
/// When it is not `expected`.
pub fn parse<T: std::str::FromStr>(name: &str, value: &str, expected: &'static str) -> Result<T, Error> {
    value.trim().parse().map_err(|_| invalid(name, value, expected))
}

/// The error of a value that can be read and makes no sense.
pub fn invalid(name: &str, value: &str, expected: &'static str) -> Error {
    Error::Invalid { name: name.to_owned(), value: value.to_owned(), expected }
}

/// The entries of a comma list, without white space and empty entries.
pub fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

//! Statuses that an operator knows better than the table.

use eddy_contract::Class;
use eddy_contract::guest::param::{Error, invalid, list, parse};

/// The overrides, by status.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params {
    /// `transient`: retried, whatever the table says.
    pub transient: Vec<u16>,
    /// `terminal`: never retried, whatever the table says.
    pub terminal: Vec<u16>,
}

impl Params {
    /// Reads parameters.
    ///
    /// # Errors
    /// When one is unknown, holds no statuses, or a status stands in both lists.
    pub fn parse<'a>(params: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let mut parsed = Self::default();
        for (name, value) in params {
            match name {
                "transient" => parsed.transient = statuses(name, value)?,
                "terminal" => parsed.terminal = statuses(name, value)?,
                unknown => return Err(Error::Unknown(unknown.to_owned())),
            }
        }
        match parsed.transient.iter().find(|status| parsed.terminal.contains(status)) {
            Some(status) => Err(Error::Contradiction(*status)),
            None => Ok(parsed),
        }
    }

    /// What the operator says of `status`.
    pub(crate) fn class(&self, status: u16) -> Option<Class> {
        if self.transient.contains(&status) {
            Some(Class::Transient)
        } else if self.terminal.contains(&status) {
            Some(Class::Terminal)
        } else {
            None
        }
    }
}

fn statuses(name: &str, value: &str) -> Result<Vec<u16>, Error> {
    const EXPECTED: &str = "a list of statuses from 100 to 599";
    let status = |entry| match parse(name, entry, EXPECTED)? {
        status @ 100..=599 => Ok(status),
        _ => Err(invalid(name, entry, EXPECTED)),
    };
    list(value).map(status).collect()
}

//! What an operator can set, as texts by name.

use eddy_contract::guest::param::{Error, invalid, list, parse};

/// The limits and lists that a trigger is judged by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// `max_bytes`: the longest value.
    pub bytes_max: usize,
    /// `max_depth`: the deepest nesting, 1 for an object without objects in it.
    pub depth_max: usize,
    /// `max_ahead_s`: how far the event time may be ahead of the record's own timestamp, seconds.
    pub ahead_max_s: u32,
    /// `max_behind_s`: how far it may be behind, seconds.
    pub behind_max_s: u32,
    /// `fences`: the known fences, separated by commas; empty when every fence is welcome.
    pub fences: Vec<String>,
    /// `schema_versions`: the known versions, separated by commas; empty when every version is welcome.
    pub schema_versions: Vec<String>,
}

/// The walk recurses, and the JSON parser has its own limit of 128 levels.
const DEPTH_LIMIT: usize = 100;

impl Params {
    /// The values without any parameter.
    pub const DEFAULT: Self = Self {
        bytes_max: 64 << 10,
        depth_max: 64,
        ahead_max_s: 24 * 60 * 60,
        behind_max_s: 10 * 365 * 24 * 60 * 60,
        fences: Vec::new(),
        schema_versions: Vec::new(),
    };

    /// Reads parameters.
    ///
    /// # Errors
    /// When one is unknown or has a value that makes no sense.
    pub fn parse<'a>(params: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Error> {
        let mut parsed = Self::DEFAULT;
        for (name, value) in params {
            match name {
                "max_bytes" => parsed.bytes_max = parse(name, value, "a number of bytes")?,
                "max_depth" => parsed.depth_max = depth(name, value)?,
                "max_ahead_s" => parsed.ahead_max_s = parse(name, value, "a number of seconds")?,
                "max_behind_s" => parsed.behind_max_s = parse(name, value, "a number of seconds")?,
                "fences" => parsed.fences = list(value).map(str::to_owned).collect(),
                "schema_versions" => parsed.schema_versions = list(value).map(str::to_owned).collect(),
                unknown => return Err(Error::Unknown(unknown.to_owned())),
            }
        }
        parsed.fences.sort_unstable();
        Ok(parsed)
    }

    /// Whether a trigger of this fence is welcome.
    pub(crate) fn knows_fence(&self, fence: &str) -> bool {
        self.fences.is_empty() || self.fences.binary_search_by(|known| known.as_str().cmp(fence)).is_ok()
    }

    /// Whether a trigger of this version is welcome.
    pub(crate) fn knows_schema_version(&self, version: &str) -> bool {
        self.schema_versions.is_empty() || self.schema_versions.iter().any(|known| known == version)
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::DEFAULT
    }
}

fn depth(name: &str, value: &str) -> Result<usize, Error> {
    const EXPECTED: &str = "a depth of 1 to 100";
    let depth = parse(name, value, EXPECTED)?;
    if (1..=DEPTH_LIMIT).contains(&depth) { Ok(depth) } else { Err(invalid(name, value, EXPECTED)) }
}

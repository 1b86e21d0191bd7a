//! The SmartModules that this build of eddy ships, and how a build of a module is named.
//!
//! The bytes travel in the request of a judged stream, because a module that is looked up by name right after it was
//! replaced may be the old one. What runs them is the SPU; nothing here does.

use std::collections::BTreeMap;

use eddy_contract::{guest::param, idempotency::sha256_hex};
use eddy_topology::definition::{ModuleDefinition, ModulesDefinition};

/// The shipped build of `validate`.
pub const VALIDATE_WASM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/validate.wasm"));

/// The shipped build of `classify`.
pub const CLASSIFY_WASM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/classify.wasm"));

/// The parameters that a module is opened with.
pub type Params = BTreeMap<String, String>;

/// Names a build: hex SHA-256 over the module's bytes and its parameters, because both decide what it says.
pub fn build_id(wasm: &[u8], params: &Params) -> String {
    let mut named = wasm.to_vec();
    for text in params.iter().flat_map(|(name, value)| [name, value]) {
        named.extend_from_slice(&(text.len() as u64).to_be_bytes());
        named.extend_from_slice(text.as_bytes());
    }
    sha256_hex(&named)
}

/// Parameters that a module refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`modules.{module}.params`: {error}")]
pub struct ParamsError {
    pub module: &'static str,
    pub error: param::Error,
}

/// What `validate` makes of its parameters.
///
/// # Errors
/// When it refuses them, and so would not open in the SPU.
pub fn validate_params(definitions: &ModulesDefinition) -> Result<eddy_validate::Params, ParamsError> {
    let params = eddy_validate::Params::parse(texts(&definitions.validate));
    params.map_err(|error| ParamsError { module: "validate", error })
}

/// What `classify` makes of its parameters.
///
/// # Errors
/// As [`validate_params`].
pub fn classify_params(definitions: &ModulesDefinition) -> Result<eddy_classify::Params, ParamsError> {
    let params = eddy_classify::Params::parse(texts(&definitions.classify));
    params.map_err(|error| ParamsError { module: "classify", error })
}

fn texts(definition: &ModuleDefinition) -> impl Iterator<Item = (&str, &str)> {
    definition.params.iter().map(|(name, value)| (name.as_str(), value.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(params: &[(&str, &str)]) -> Params {
        params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_build_without_parameters_is_named_by_its_bytes_alone() {
        assert_eq!(build_id(VALIDATE_WASM, &Params::new()), sha256_hex(VALIDATE_WASM));
        assert_ne!(build_id(VALIDATE_WASM, &Params::new()), build_id(CLASSIFY_WASM, &Params::new()));
    }

    #[test]
    fn other_parameters_are_another_build() {
        let builds = [&[][..], &[("fences", "a")], &[("fences", "b")], &[("fence", "sa")]]
            .map(|of_build| build_id(VALIDATE_WASM, &params(of_build)));

        let distinct: std::collections::BTreeSet<_> = builds.iter().collect();
        assert_eq!(distinct.len(), builds.len());
    }
}

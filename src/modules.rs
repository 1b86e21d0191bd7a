//! The SmartModules that this build of eddy ships, and how a build of a module is named.
//!
//! The bytes travel in the request of a judged stream, because a module that is looked up by name right after it was
//! replaced may be the old one. What runs them is the SPU; nothing here does.

use std::collections::BTreeMap;

use eddy_contract::idempotency::sha256_hex;

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

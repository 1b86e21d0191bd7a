//! The original bytes of a record: standard base64 with padding in JSON, so that `jq -r .payload_b64 | base64 -d`
//! gives them back.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Original bytes, standard base64 in JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload(pub Vec<u8>);

impl Payload {
    /// How many characters the base64 of `bytes` bytes has.
    pub const fn base64_length(bytes: usize) -> usize {
        bytes.div_ceil(3) * 4
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Base64)
    }
}

/// Decodes without an owned copy of the text.
struct Base64;

impl de::Visitor<'_> for Base64 {
    type Value = Payload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard base64")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Payload, E> {
        STANDARD
            .decode(text)
            .map(Payload)
            .map_err(|_| E::invalid_value(de::Unexpected::Other("a text that is not"), &self))
    }
}

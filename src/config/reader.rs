//! Reads a tree into the definition's types, and says exactly where and why that fails.
//!
//! This is a serde deserializer of its own for two reasons. It learns from the types which keys a table may have, so
//! the list of keys exists once, and it lets the types decide what a text from the environment or a flag means.
//! It stops at the first fault; [`super::read`] repairs and reads again.

use std::collections::btree_map;

use serde::{
    Deserializer,
    de::{self, IntoDeserializer, Unexpected, Visitor, value::StrDeserializer},
    forward_to_deserialize_any,
};

use super::tree::{Node, Path, Step, Value};

/// Why reading failed, and where.
#[derive(Debug)]
pub(super) struct Fault {
    /// From the fault up to the root.
    steps: Vec<Step>,
    pub(super) kind: Kind,
}

/// What is wrong.
#[derive(Debug)]
pub(super) enum Kind {
    /// The table has no such key.
    UnknownKey { key: String, expected: &'static [&'static str] },
    /// The value cannot be what it should be.
    Invalid(String),
}

impl Fault {
    fn unknown_key(key: &str, expected: &'static [&'static str]) -> Self {
        Self { steps: Vec::new(), kind: Kind::UnknownKey { key: key.to_owned(), expected } }
    }

    fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Where: the value that is invalid, or the table that has no such key.
    pub(super) fn path(&self) -> Path {
        Path(self.steps.iter().rev().cloned().collect())
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::UnknownKey { key, .. } => write!(f, "unknown key `{key}`"),
            Kind::Invalid(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self { steps: Vec::new(), kind: Kind::Invalid(message.to_string()) }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::unknown_key(field, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let list = expected.join(", ");
        let hint = super::nearest(variant, expected.iter().copied()).map(|near| format!("; did you mean `{near}`?"));
        Self::custom(format_args!("`{variant}` is none of {list}{}", hint.unwrap_or_default()))
    }
}

/// Asks a text for a number or a truth value; a text that is none is left to the visitor, which names what it wants.
macro_rules! parse_text {
    ($($method:ident $visit:ident $type:ty,)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match &self.value {
                Value::Text(text) => match text.trim().parse::<$type>() {
                    Ok(value) => visitor.$visit(value),
                    Err(_) => Err(de::Error::invalid_value(Unexpected::Str(text), &visitor)),
                },
                Value::Table(_) | Value::Array(_) | Value::Scalar(_) => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for &Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Table(table) => visitor.visit_map(Entries { entries: table.iter(), current: None }),
            Value::Array(nodes) => visitor.visit_seq(Items { nodes, next: 0 }),
            Value::Scalar(scalar) => {
                scalar.clone().deserialize_any(visitor).map_err(|error| de::Error::custom(error.message().trim()))
            }
            Value::Text(text) => match self.guess(text) {
                Some(node) => node.deserialize_any(visitor),
                None => visitor.visit_str(text),
            },
        }
    }

    parse_text! {
        deserialize_bool visit_bool bool,
        deserialize_i8 visit_i64 i64,
        deserialize_i16 visit_i64 i64,
        deserialize_i32 visit_i64 i64,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u64 u64,
        deserialize_u16 visit_u64 u64,
        deserialize_u32 visit_u64 u64,
        deserialize_u64 visit_u64 u64,
        deserialize_f32 visit_f64 f64,
        deserialize_f64 visit_f64 f64,
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Table(_) | Value::Array(_) | Value::Scalar(_) => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Value::Text(text) = &self.value else { return self.deserialize_any(visitor) };
        if text.trim_start().starts_with('[') {
            return self.deserialize_any(visitor);
        }
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let nodes: Vec<Node> =
            parts.map(|part| Node { layer: self.layer.clone(), value: Value::Text(part.to_owned()) }).collect();
        visitor.visit_seq(Items { nodes: &nodes, next: 0 })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        if let Value::Table(table) = &self.value
            && let Some(key) = table.keys().find(|key| !fields.contains(&key.as_str()))
        {
            return Err(Fault::unknown_key(key, fields));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Text(text) | Value::Scalar(toml::Value::String(text)) => {
                let variant: StrDeserializer<'_, Fault> = text.as_str().into_deserializer();
                variant.deserialize_enum(name, variants, visitor)
            }
            Value::Table(_) | Value::Array(_) | Value::Scalar(_) => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct map identifier ignored_any
    }
}

impl Node {
    /// What a text means where the types do not say: the TOML that it looks like, else nothing.
    fn guess(&self, text: &str) -> Option<Self> {
        let mut table: toml::Table = format!("value = {text}").parse().ok()?;
        let value = table.remove("value").filter(|_| table.is_empty())?;
        Some(Self::from_toml(value, &self.layer))
    }
}

/// A table's entries, for serde.
struct Entries<'a> {
    entries: btree_map::Iter<'a, String, Node>,
    current: Option<(&'a String, &'a Node)>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        let key: StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, node) = self.current.take().expect("serde asks for a value only after its key");
        seed.deserialize(node).map_err(|fault| fault.below(Step::Key(key.clone())))
    }
}

/// An array's items, for serde.
struct Items<'a> {
    nodes: &'a [Node],
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.nodes.get(self.next) else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(node).map(Some).map_err(|fault| fault.below(Step::Index(index)))
    }
}

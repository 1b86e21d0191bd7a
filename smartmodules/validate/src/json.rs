//! One walk over JSON that keeps nothing but what it is asked for.
//!
//! The walk borrows from the text and builds no tree. At every level it looks for what a tree would hide: names that stand
//! twice in one object, and nesting beyond a limit (so that no input can exhaust the stack).

use std::borrow::Cow;
use std::fmt;

use eddy_contract::Code;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::Finding;

/// A value: scalars as they are, containers only by kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value<'a> {
    Null,
    Bool,
    Integer(i64),
    /// An integer beyond `i64::MAX`.
    Huge(u64),
    Float(f64),
    Text(Cow<'a, str>),
    Array,
    Object,
}

impl Value<'_> {
    /// How a person calls it.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Integer(_) | Self::Huge(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Text(_) => "a text",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }

    /// Any number; an integer beyond 53 bits is rounded.
    pub(crate) const fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(number) => Some(*number as f64),
            Self::Huge(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            Self::Null | Self::Bool | Self::Text(_) | Self::Array | Self::Object => None,
        }
    }
}

/// Walks over `text`, hands each member of the outermost object to `member`, and returns the outermost value.
pub(crate) fn read<'a>(
    text: &'a str,
    depth_max: usize,
    member: impl FnMut(&str, Value<'a>),
) -> Result<Value<'a>, Finding> {
    let mut walk = Walk { depth: 0, depth_max, names: Vec::with_capacity(NAMES_EXPECTED), finding: None, member };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = walk.deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| walk.finding.take().unwrap_or_else(|| Finding::new(Code::InvalidJson, error.to_string())))
}

/// Names that a usual trigger has, with room to spare.
const NAMES_EXPECTED: usize = 16;

struct Walk<'a, F> {
    depth: usize,
    depth_max: usize,
    /// The names of the objects that are open, the innermost last.
    names: Vec<Cow<'a, str>>,
    finding: Option<Finding>,
    member: F,
}

impl<'a, F: FnMut(&str, Value<'a>)> Walk<'a, F> {
    fn enter<E: Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth > self.depth_max {
            let detail = format!("nested deeper than {} levels", self.depth_max);
            return Err(self.stop(Finding::new(Code::TooDeep, detail)));
        }
        Ok(())
    }

    /// Closes the object whose names begin at `first`. `suspicious` is false when no two of them can be the same.
    fn leave_object<E: Error>(&mut self, first: usize, suspicious: bool) -> Result<(), E> {
        let names = &mut self.names[first..];
        if let Some(name) = if suspicious { twice(names) } else { None } {
            let detail = format!("{} stands twice in one object", crate::trigger::quoted(name));
            return Err(self.stop(Finding::new(Code::DuplicateKey, detail)));
        }
        self.names.truncate(first);
        self.depth -= 1;
        Ok(())
    }

    /// Notes what was found; the parser's own error only unwinds the walk.
    #[cold]
    fn stop<E: Error>(&mut self, finding: Finding) -> E {
        self.finding = Some(finding);
        E::custom("")
    }
}

fn twice<'n>(names: &'n mut [Cow<'_, str>]) -> Option<&'n str> {
    names.sort_unstable();
    names.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| &*pair[0])
}

/// One of 64 bits for a name: the same for the same name, seldom the same for two names of one object, and never for two
/// of the format's own.
fn bit(name: &str) -> u64 {
    let [first, .., last] = name.as_bytes() else { return 1 };
    1 << ((usize::from(*first) + usize::from(*last) * 7 + name.len()) % 64)
}

impl<'a, F: FnMut(&str, Value<'a>)> DeserializeSeed<'a> for &mut Walk<'a, F> {
    type Value = Value<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Value<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a, F: FnMut(&str, Value<'a>)> Visitor<'a> for &mut Walk<'a, F> {
    type Value = Value<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value<'a>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value<'a>, E> {
        Ok(Value::Bool)
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'a>, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'a>, E> {
        Ok(i64::try_from(number).map_or(Value::Huge(number), Value::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'a>, E> {
        Ok(Value::Float(number))
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Value<'a>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'a>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<Value<'a>, A::Error> {
        self.enter()?;
        while elements.next_element_seed(&mut *self)?.is_some() {}
        self.depth -= 1;
        Ok(Value::Array)
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Value<'a>, A::Error> {
        self.enter()?;
        let first = self.names.len();
        let (mut bits, mut suspicious) = (0, false);
        while let Some(name) = members.next_key_seed(Name)? {
            let value = members.next_value_seed(&mut *self)?;
            if self.depth == 1 {
                (self.member)(&name, value);
            }
            let bit = bit(&name);
            suspicious |= bits & bit != 0;
            bits |= bit;
            self.names.push(name);
        }
        self.leave_object(first, suspicious)?;
        Ok(Value::Object)
    }
}

/// The name of a member, with escapes resolved, so that two spellings of one name are the same.
struct Name;

impl<'a> DeserializeSeed<'a> for Name {
    type Value = Cow<'a, str>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Cow<'a, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Name {
    type Value = Cow<'a, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'a str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Cow<'a, str>, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

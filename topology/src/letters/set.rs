//! Sets one value in a payload and leaves every other byte of a value as it is.
//!
//! A number keeps its digits and members keep their order, because a repair should change what was asked for; only white
//! space between the members on the way goes. A name that stands twice, which makes a trigger a dead letter, stands once
//! afterwards. The way leads through objects only: triggers have no more.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// Why a value cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Only an editor helps.
    #[error("the payload is no JSON")]
    NotJson,
    /// A step of the way is missing.
    #[error("`{0}` does not exist in the payload")]
    Missing(String),
    /// A step of the way is something else.
    #[error("`{0}` is no object")]
    NotAnObject(String),
    /// Nothing between two dots, or at an end.
    #[error("`{0}` names nothing: a name is empty")]
    EmptyName(String),
}

/// The payload with the value at `path` (`lat`, `position.lat`) set, or added to its object. A value that is JSON is
/// taken as it is written; any other is a text.
///
/// # Errors
/// When the payload is not JSON, or the way does not lead through objects.
pub fn set(payload: &[u8], path: &str, value: &str) -> Result<Vec<u8>, Error> {
    let names: Vec<&str> = path.split('.').collect();
    if names.contains(&"") {
        return Err(Error::EmptyName(path.to_owned()));
    }
    let root: &RawValue = serde_json::from_slice(payload).map_err(|_| Error::NotJson)?;
    Ok(set_in(root, &names, 0, &literal(value))?.get().as_bytes().to_vec())
}

/// The value as JSON.
fn literal(value: &str) -> Box<RawValue> {
    serde_json::from_str(value).unwrap_or_else(|_| raw(quoted(value)))
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is always JSON")
}

fn raw(json: String) -> Box<RawValue> {
    RawValue::from_string(json).expect("a quoted text, or an object of names and values that are JSON")
}

/// `object` with the value set that `names[depth..]` leads to.
fn set_in(object: &RawValue, names: &[&str], depth: usize, value: &RawValue) -> Result<Box<RawValue>, Error> {
    let not_an_object = || match depth {
        0 => Error::NotAnObject("payload".to_owned()),
        _ => Error::NotAnObject(names[..depth].join(".")),
    };
    let Members(mut members) = serde_json::from_str(object.get()).map_err(|_| not_an_object())?;
    let name = names[depth];
    let found = members.iter().position(|(member, _)| member == name);
    let new = match found {
        _ if depth + 1 == names.len() => value.to_owned(),
        Some(index) => set_in(&members[index].1, names, depth + 1, value)?,
        None => return Err(Error::Missing(names[..=depth].join("."))),
    };
    let index = found.unwrap_or(members.len());
    let behind = members.split_off((index + 1).min(members.len())).into_iter().filter(|(member, _)| member != name);
    members.truncate(index);
    members.push((name.to_owned(), new));
    members.extend(behind);
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{}", quoted(name), value.get())).collect();
    Ok(raw(format!("{{{}}}", members.join(","))))
}

/// The members of an object in their order, doubles and all.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OfMembers)
    }
}

struct OfMembers;

impl<'de> Visitor<'de> for OfMembers {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(payload: &str, path: &str, value: &str) -> String {
        String::from_utf8(set(payload.as_bytes(), path, value).unwrap()).unwrap()
    }

    #[test]
    fn one_value_changes_and_every_other_keeps_its_bytes() {
        let payload = r#"{"z":1.50,"lat":200, "event_time_ns":1796000000000000001,"a":[1, 2]}"#;

        let expected = r#"{"z":1.50,"lat":52.5,"event_time_ns":1796000000000000001,"a":[1, 2]}"#;
        assert_eq!(after(payload, "lat", "52.5"), expected);
    }

    #[test]
    fn a_value_that_is_no_json_is_a_text() {
        assert_eq!(after("{}", "transition", "ENTER"), r#"{"transition":"ENTER"}"#);
        assert_eq!(after("{}", "device_id", "\"17\""), r#"{"device_id":"17"}"#);
        assert_eq!(after("{}", "say", "a \"b\""), r#"{"say":"a \"b\""}"#);
        assert_eq!(after("{}", "known", " true "), r#"{"known":true}"#);
    }

    #[test]
    fn a_way_leads_through_objects() {
        assert_eq!(after(r#"{"at":{"lat":1,"lon":2},"b":0}"#, "at.lat", "3"), r#"{"at":{"lat":3,"lon":2},"b":0}"#);
        assert_eq!(after(r#"{"at":{}}"#, "at.lat", "3"), r#"{"at":{"lat":3}}"#);
    }

    #[test]
    fn a_name_that_stood_twice_stands_once() {
        assert_eq!(after(r#"{"lat":1,"lon":2,"lat":3}"#, "lat", "4"), r#"{"lat":4,"lon":2}"#);
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        let error = |payload: &str, path| set(payload.as_bytes(), path, "1").unwrap_err();

        assert_eq!(error("{oops", "lat"), Error::NotJson);
        assert_eq!(error("[1]", "lat"), Error::NotAnObject("payload".into()));
        assert_eq!(error(r#"{"at":{"x":1}}"#, "at.x.lat"), Error::NotAnObject("at.x".into()));
        assert_eq!(error(r#"{"at":{}}"#, "at.x.lat"), Error::Missing("at.x".into()));
        assert_eq!(error("{}", "at..lat"), Error::EmptyName("at..lat".into()));
    }
}

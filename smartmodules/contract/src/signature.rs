//! `signature`: groups failures of one cause.
//!
//! Stage, class, status and the message with everything blanked that differs from record to record: numbers, ids,
//! hexadecimal, addresses. Two failures with one signature are the same fault as far as a person is concerned.

use crate::Class;
use crate::envelope::{SIGNATURE_BYTES_MAX, prefix};

/// What stands for a blanked part.
const BLANK: char = '#';

/// From how many characters on a word of only hexadecimal digits counts as an id.
const HEX_WORD_MIN: usize = 8;

/// The signature of a failure, at most 96 bytes of JSON: `stage:class:status:message`, absent parts left empty.
///
/// ```
/// use eddy_contract::{Class, signature};
///
/// let text = signature("deliver", Some(Class::Transient), Some(503), "device 42 at 10.0.0.7:8080 is busy");
/// assert_eq!(text, "deliver:transient:503:device # at # is busy");
/// ```
pub fn signature(stage: &str, class: Option<Class>, status: Option<u16>, message: &str) -> String {
    let mut text = format!("{stage}:{}:", class.map_or("", Class::as_str));
    if let Some(status) = status {
        text.push_str(&status.to_string());
    }
    text.push(':');
    normalise(message, &mut text);
    text.truncate(prefix(&text, SIGNATURE_BYTES_MAX).len());
    text
}

/// Appends `message` with its varying words blanked and white space collapsed, until the signature is full.
fn normalise(message: &str, out: &mut String) {
    for (index, part) in message.split_whitespace().enumerate() {
        if out.len() > SIGNATURE_BYTES_MAX {
            return;
        }
        if index > 0 {
            out.push(' ');
        }
        blank_words(part, out);
    }
}

fn blank_words(part: &str, out: &mut String) {
    let mut rest = part;
    while !rest.is_empty() {
        let word = &rest[..rest.find(|c| !is_of_word(c)).unwrap_or(rest.len())];
        if word.is_empty() {
            let separator = rest.chars().next().expect("the rest is not empty");
            out.push(separator);
            rest = &rest[separator.len_utf8()..];
        } else if is_varying(word) {
            out.push(BLANK);
            rest = &rest[word.len()..];
        } else {
            out.push_str(word);
            rest = &rest[word.len()..];
        }
    }
}

/// Letters and digits, and what joins them within numbers, ids, host names and mail addresses.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '@' | '+' | '%')
}

fn is_varying(word: &str) -> bool {
    word.contains(|c: char| c.is_numeric() || c == '@')
        || (word.len() >= HEX_WORD_MIN && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

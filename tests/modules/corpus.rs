//! What producers send: one good trigger, and hundreds of ways to spoil it. The same every time.

use std::path::Path;

/// When the records of the corpus were written, milliseconds since 1970; its good triggers happened just before.
pub(crate) const TIMESTAMP_MS: i64 = 1_796_000_000_500;

const MEMBERS: [(&str, &str); 10] = [
    ("device_id", r#""truck-7""#),
    ("fence_id", r#""depot""#),
    ("transition", r#""ENTER""#),
    ("event_time_ns", "1796000000000000000"),
    ("lat", "51.92431"),
    ("lon", "4.47791"),
    ("idempotency_key", r#""order-7/1""#),
    ("traceparent", r#""00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#),
    ("schema_version", "1"),
    ("correlation_id", r#""c-9""#),
];

/// Values that each member is given in turn; good ones for some are among them.
const VALUES: [&str; 41] = [
    "null",
    "true",
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "91",
    "-90.0000001",
    "180.5",
    "120.25",
    "90.00000000000001421085471520200371742248535156250",
    "1e308",
    "1e400",
    "1E-400",
    "5e-324",
    "NaN",
    "Infinity",
    "01",
    "1796000000",
    "1796000000000",
    "1796000000000000",
    "1796000000000000000.5",
    "1.796e18",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    r#""""#,
    r#"" ""#,
    r#""51.92431""#,
    r#""Enter""#,
    r#""EXIT""#,
    r#""a\u0000b""#,
    r#""a\nb""#,
    "\"a\nb\"",
    r#""\ud83d\ude9a ü""#,
    r#""\ud83d""#,
    r#"["ENTER"]"#,
    r#"{"a":{"b":[1,{"c":1,"c":2}]}}"#,
];

/// A good trigger.
pub(crate) fn trigger() -> Vec<u8> {
    object(&MEMBERS)
}

/// Good, spoiled and absurd values, several hundred.
pub(crate) fn values() -> Vec<Vec<u8>> {
    let mut values = vec![trigger(), object(&MEMBERS[..6])];
    values.extend(spoiled_members());
    values.extend(absurd());
    values.extend((0..trigger().len()).step_by(5).map(|length| trigger()[..length].to_vec()));
    values.extend(mutated(100));
    values
}

/// The real payloads of other products in `tests/data/payloads`: JSON, and no triggers.
pub(crate) fn payloads() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/payloads");
    let mut payloads: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is part of the repository")
        .map(|entry| entry.expect("its entries can be read").path())
        .map(|path| (path.display().to_string(), std::fs::read(path).expect("a payload can be read")))
        .collect();
    payloads.sort();
    payloads
}

fn object(members: &[(&str, &str)]) -> Vec<u8> {
    let members: Vec<_> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(",")).into_bytes()
}

/// Each member absent, twice, and with each of the values.
fn spoiled_members() -> impl Iterator<Item = Vec<u8>> {
    (0..MEMBERS.len()).flat_map(|index| {
        let mut without = MEMBERS.to_vec();
        let (name, value) = without.remove(index);
        let mut twice = MEMBERS.to_vec();
        twice.push((name, value));
        let replaced = VALUES.iter().map(move |value| {
            let mut members = MEMBERS;
            members[index].1 = value;
            object(&members)
        });
        [object(&without), object(&twice)].into_iter().chain(replaced)
    })
}

/// What is wrong as a whole.
fn absurd() -> Vec<Vec<u8>> {
    let good = String::from_utf8(trigger()).expect("the trigger is text");
    let inner = &good[1..good.len() - 1];
    let nested = |depth: usize| format!("{{{inner},\"x\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    let names: Vec<_> = (0..2000).map(|index| format!("\"n{}\":0", index % 1999)).collect();
    let texts = [
        String::new(),
        " \r\n\t".into(),
        "null".into(),
        "\u{feff}".into(),
        format!("\u{feff}{good}"),
        format!("\n{good}\n"),
        format!("{good}{good}"),
        format!("[{good}]"),
        "[]".into(),
        "{}".into(),
        "7".into(),
        "\"text\"".into(),
        "hello".into(),
        nested(64),
        nested(65),
        "[".repeat(50_000),
        r#"{"a":"#.repeat(10_000),
        format!("{{{inner},{}}}", names.join(",")),
        good.replace("device_id", "device\\u005fid"),
        good.replace("51.92431", "120.5").replace("4.47791", "51.9"),
        format!("{{{inner},\"x\":\"{}\"}}", "ü".repeat(10_000)),
    ];
    let mut absurd: Vec<_> = texts.into_iter().map(String::into_bytes).collect();
    absurd.extend([vec![0xff; 9], vec![0; 300], b"{\"device_id\":\"\xc3\x28\"}".to_vec(), vec![b'x'; 900 << 10]]);
    absurd
}

/// The good trigger with a few bytes replaced, by a fixed sequence of numbers (xorshift).
fn mutated(count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(move |_| {
        let mut value = trigger();
        for _ in 0..=next() % 3 {
            let index = (next() % value.len() as u64) as usize;
            value[index] = next() as u8;
        }
        value
    })
}

//! `eddy dlq groups`: dead letters by cause.

use std::process::ExitCode;

use comfy_table::{Table, presets};
use eddy_topology::letters::groups::{self, Group};

use super::view::{NOTHING, escape, or_nothing, time};
use crate::{
    cli::{
        desk::{DeskArgs, Kind, now_ms},
        filter::FilterArgs,
    },
    output::Printer,
};

/// Groups open dead letters by the signature of their last failure, the largest group first
///
/// A signature is stage, class, status and message with the numbers blanked: what failed the same way is one group.
/// `--signature` of the other commands takes it as it is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  eddy dlq groups --cluster localhost:9003
  eddy dlq groups --data-dir ./eddy-data --class exhausted --json | jq -r .signature")]
pub struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    desk: DeskArgs,
}

pub(super) async fn run(args: &Args, printer: Printer) -> anyhow::Result<ExitCode> {
    let filter = args.filter.filter(now_ms())?;
    let desk = args.desk.open(printer).await?;
    let letters = desk.letters(Kind::Dead).await?;
    let groups = groups::groups(letters.matching(&filter));
    if desk.json {
        printer.bulk(|out| groups.iter().try_for_each(|group| writeln!(out, "{}", json(group))))?;
    } else if groups.is_empty() {
        printer.say("no open dead letters");
    } else {
        printer.data(table(&groups))?;
    }
    desk.close().await;
    Ok(ExitCode::SUCCESS)
}

fn json(group: &Group) -> String {
    serde_json::to_string(group).expect("a group has string keys and no fallible parts")
}

fn table(groups: &[Group]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["COUNT", "FIRST SEEN", "LAST SEEN", "SAMPLE", "REASON", "SIGNATURE"]);
    for group in groups {
        let seen = |at_ms: Option<i64>| at_ms.map_or_else(|| NOTHING.to_owned(), time);
        let others = group.reasons.len().saturating_sub(1);
        let reason = or_nothing(group.reason());
        table.add_row([
            group.count.to_string(),
            seen(group.first_ms),
            seen(group.last_ms),
            escape(&group.sample.to_string()),
            if others == 0 { reason } else { format!("{reason} and {others} more") },
            or_nothing(Some(&group.signature)),
        ]);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn group() -> Group {
        Group {
            signature: "deliver:terminal:422:no \u{1b}fence".into(),
            count: 2,
            first_ms: Some(1_796_040_000_000),
            last_ms: None,
            sample: "triggers/0/17".parse().unwrap(),
            reasons: BTreeMap::from([("terminal:rejected".into(), 2)]),
        }
    }

    #[test]
    fn a_table_has_one_line_for_each_group() {
        let mut mixed = group();
        mixed.reasons.insert("exhausted:unavailable".into(), 1);

        let text = table(&[group(), mixed]);

        let expected = [
            " COUNT  FIRST SEEN                LAST SEEN  SAMPLE         REASON                        SIGNATURE",
            r" 2      2026-11-30T12:00:00.000Z  -          triggers/0/17  terminal:rejected             deliver:terminal:422:no \u{1b}fence",
            r" 2      2026-11-30T12:00:00.000Z  -          triggers/0/17  terminal:rejected and 1 more  deliver:terminal:422:no \u{1b}fence",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_json_line_has_every_field() {
        let expected = concat!(
            r#"{"signature":"deliver:terminal:422:no \u001bfence","count":2,"first_ms":1796040000000,"#,
            r#""sample":"triggers/0/17","reasons":{"terminal:rejected":2}}"#
        );

        assert_eq!(json(&group()), expected);
    }
}

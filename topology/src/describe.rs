//! `describe()`: what a topology amounts to, for a person.
//!
//! Two topologies are equal to a reader when their descriptions are; so it is plain text in a fixed order, fit for `diff`.

use std::fmt::{self, Write};

use crate::{
    definition::{ModuleDefinition, SinkKind},
    engine::Road,
    names::TopicName,
    time::Span,
    topology::Topology,
};

impl Topology {
    /// The picture, the topics, the tiers, the sink and the limits.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        let sections = [Self::picture, Self::topics, Self::roads, Self::retries, Self::downstream, Self::memory];
        for (number, section) in sections.into_iter().enumerate() {
            let line_break = if number > 0 { "\n" } else { "" };
            text.push_str(line_break);
            section(self, &mut text).expect("writing to a String does not fail");
        }
        text
    }

    fn picture(&self, out: &mut String) -> fmt::Result {
        let (source, sink) = (&self.names.source, &self.sink.name);
        let tiers: Vec<String> = self.schedule.tiers().iter().map(Span::to_string).collect();
        writeln!(out, "{source}")?;
        writeln!(out, "└─ validate")?;
        writeln!(out, "   ├─ valid ─► {sink}")?;
        writeln!(out, "   │  ├─ acknowledged ─► delivered")?;
        writeln!(out, "   │  └─ failed ─► classify")?;
        writeln!(out, "   │     ├─ transient ─► wait {} ─► {sink}", tiers.join(" · "))?;
        writeln!(out, "   │     └─ exhausted, terminal, unclassified ─► dead letters")?;
        writeln!(out, "   └─ anything else ─► dead letters")
    }

    fn topics(&self, out: &mut String) -> fmt::Result {
        let names = &self.names;
        writeln!(out, "topics ({} each)", counted(self.partitions, "partition"))?;
        let width = names.data_topics().map(|name| name.as_str().len()).max().unwrap_or(0);
        let mut topic = |name: &TopicName, kept: Span, what: &str| {
            writeln!(out, "  {:width$}  kept {:5}  {what}", name.as_str(), kept.to_string())
        };
        topic(&names.source, self.source_retention, "written by producers")?;
        topic(&names.failures, self.source_retention, "failed deliveries, until classified")?;
        for (name, delay) in names.tiers.iter().zip(self.schedule.tiers()) {
            topic(name, self.retry.retention, &format!("waits {delay} after a failure"))?;
        }
        topic(&names.dlq, self.dlq_retention, "dead letters")?;
        topic(&names.parked, self.parked_retention, "set aside for a person")?;
        writeln!(out, "  {:width$}  one partition, jobs and commands", names.control.as_str())
    }

    fn roads(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "positions (consumer ids)")?;
        for road in Road::all(self) {
            let how = match road {
                Road::Intake => format!("through {}{}", self.names.validate, params(&self.modules.validate)),
                Road::Route => format!("through {}{}", self.names.classify, params(&self.modules.classify)),
                Road::Tier(_) => "as it is".to_owned(),
            };
            writeln!(out, "  {}: reads {} {how}", road.consumer_id(self), road.topic(self))?;
        }
        Ok(())
    }

    fn retries(&self, out: &mut String) -> fmt::Result {
        let attempts = self.schedule.ceiling() + 1;
        writeln!(out, "retries")?;
        writeln!(
            out,
            "  {} in all, then exhausted; outages up to {} lose nothing",
            counted(attempts, "attempt"),
            self.retry.outage_max
        )?;
        for (index, delay) in self.schedule.tiers().iter().enumerate() {
            let spread = self.spread_of(*delay);
            writeln!(out, "  retry {}: {delay} after the failure before it, a burst spread over {spread}", index + 1)?;
        }
        Ok(())
    }

    fn downstream(&self, out: &mut String) -> fmt::Result {
        let sink = &self.sink;
        let target = match self.sink_kind {
            SinkKind::Webhook => sink.url.as_deref().unwrap_or("no url yet"),
            SinkKind::Topic => sink.topic.as_deref().unwrap_or_default(),
            SinkKind::Stdout => "standard output",
        };
        let breaker = &sink.breaker;
        writeln!(out, "downstream")?;
        writeln!(out, "  {} ({}): {target}", sink.name, self.sink_kind.as_str())?;
        writeln!(out, "  {} at once per partition and road, each for at most {}", self.in_flight_max(), sink.timeout)?;
        writeln!(
            out,
            "  stops after {} in a row, then probes every {} to {}; a broken connection is tried again after {}",
            counted(breaker.failures_max, "failure"),
            breaker.probe_interval,
            breaker.probe_interval_max,
            breaker.blip_delay
        )?;
        let guard = &self.guard;
        writeln!(
            out,
            "  effects remembered for {} ({} at most), doubtful ones for {}",
            guard.recent_horizon, guard.recent_keys_max, guard.durable_ttl
        )
    }

    fn memory(&self, out: &mut String) -> fmt::Result {
        let mebibytes = self.limits.window_bytes_max >> 20;
        writeln!(out, "limits")?;
        writeln!(out, "  {} unsettled records or {mebibytes} MiB per partition and road", self.limits.window_max)
    }
}

fn params(module: &ModuleDefinition) -> String {
    let params: Vec<String> = module.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if params.is_empty() { String::new() } else { format!(" with {}", params.join(", ")) }
}

fn counted(count: u32, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

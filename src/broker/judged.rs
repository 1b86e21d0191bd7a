//! Reading through a SmartModule, so that every record of the log comes exactly once, judged.
//!
//! The module's bytes travel with the request, because a stream opened by name right after an upload still gets the
//! old build. What the stream reports about offsets and timestamps is not believed: each output begins with a verdict
//! header that has both, and the offsets must be contiguous. When the next record does not come, a raw read says what
//! the log has: a hole is accepted as [`Input::Hole`], anything else is a fault, and `recovery` decides the cure. A
//! record that the module cannot judge is judged by the fallback, the plain function that the module was built from.
//!
//! A stream that stays silent is compared with the log's end: a broker skips an output that does not fit its answer
//! without a word.

mod recovery;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use eddy_contract::Header;
use eddy_topology::engine::Input;
use fluvio::consumer::SmartModuleExtraParams;
use fluvio_protocol::link::ErrorCode;
use fluvio_spu_schema::{
    fetch::FetchablePartitionResponse,
    server::{
        smartmodule::{SmartModuleInvocation, SmartModuleInvocationWasm, SmartModuleKind},
        stream_fetch::StreamFetchRequest,
        update_offset::{OffsetUpdate, UpdateOffsetsRequest},
    },
};
use futures_util::StreamExt;
use tokio::time::timeout;
use tracing::{debug, warn};

use self::recovery::{Cure, Fault, Recovery, Size};
use super::{
    Cluster, Error, Reader, Record,
    backoff::Backoff,
    batch::{self, Slice},
    connection,
    link::Link,
    pull::{Puller, RETRY_FIRST, RETRY_MAX, check_read},
    reader::{Closed, Outlet, count},
};

/// How long a stream may be silent while the log has more. Doubles with every fault at one offset, because a broker
/// under load is slow, too.
pub const STALL_AFTER: Duration = Duration::from_secs(5);

/// How often a silent stream is compared with the log's end.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// A module as it is sent to the broker.
#[derive(Debug, Clone)]
pub struct Module {
    /// For the broker's messages.
    pub name: String,
    pub wasm: Bytes,
    /// What [`Input::Judged`] names as the judge: the sha256 of the bytes.
    pub build: Arc<str>,
    pub params: BTreeMap<String, String>,
}

/// Judges a record like the module does: verdict header and original bytes.
pub type Judge = dyn Fn(&Record) -> Vec<u8> + Send + Sync;

/// Who judges what the module cannot.
#[derive(Clone)]
pub struct Fallback {
    pub judge: Arc<Judge>,
    /// What [`Input::Judged`] names as the judge.
    pub build: Arc<str>,
}

impl std::fmt::Debug for Fallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Fallback({})", self.build)
    }
}

/// How a partition is judged.
#[derive(Debug, Clone)]
pub struct Judging {
    pub module: Module,
    pub fallback: Fallback,
    /// Usually [`STALL_AFTER`].
    pub stall_after: Duration,
}

/// Reads a partition from `from` on for ever, as [`Input::Judged`] and [`Input::Hole`].
#[must_use]
pub fn read(cluster: &Cluster, topic: &str, partition: u32, from: i64, judging: Judging) -> Reader {
    let (cluster, topic) = (cluster.clone(), topic.to_owned());
    Reader::spawn(async move |outlet| {
        let stream = Stream {
            puller: Puller::new(&cluster, &topic, partition),
            invocation: invocation(&judging.module),
            cluster,
            topic,
            partition,
            judging,
            position: from,
            recovery: Recovery::new(),
            retry: Backoff::new(RETRY_FIRST, RETRY_MAX),
            outlet,
        };
        stream.run().await;
    })
}

fn invocation(module: &Module) -> SmartModuleInvocation {
    let wasm = SmartModuleInvocationWasm::adhoc_from_bytes(&module.wasm).expect("compressing memory into memory");
    SmartModuleInvocation {
        wasm,
        kind: SmartModuleKind::Map,
        params: SmartModuleExtraParams::from(module.params.clone()),
        name: Some(module.name.clone()),
    }
}

/// Why a session with the broker ended.
enum End {
    Closed,
    Failed(Error),
}

impl From<Closed> for End {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

struct Stream {
    cluster: Cluster,
    topic: String,
    partition: u32,
    judging: Judging,
    invocation: SmartModuleInvocation,
    /// The next offset to give to the host.
    position: i64,
    puller: Puller,
    recovery: Recovery,
    retry: Backoff,
    outlet: Outlet,
}

type Answer = FetchablePartitionResponse<Slice>;

impl Stream {
    async fn run(mut self) {
        loop {
            match self.session().await {
                Ok(()) => {}
                Err(End::Closed) => return,
                Err(End::Failed(error)) => {
                    if self.survive(error).await.is_err() {
                        return;
                    }
                }
            }
            count(&self.outlet.counters.reopened, 1);
        }
    }

    async fn survive(&mut self, error: Error) -> Result<(), Closed> {
        let (topic, partition, position) = (&self.topic, self.partition, self.position);
        if let Error::Evicted { next_available, .. } = error
            && next_available > position
        {
            warn!(topic, partition, position, next_available, "Retention removed records before they were read.");
            self.outlet.evicted(position, next_available).await?;
            self.position = next_available;
        } else if error.is_transient() {
            warn!(topic, partition, position, %error, "A judged stream broke; it is opened again.");
            tokio::time::sleep(self.retry.pause()).await;
        } else {
            self.outlet.fail(error).await?;
            return Err(Closed);
        }
        Ok(())
    }

    /// One stream, until it has to be opened again.
    async fn session(&mut self) -> Result<(), End> {
        let link = self.cluster.dial(&self.topic, self.partition).await?;
        let mut responses = link.stream("a judged stream", self.request()).await?;
        let mut stall = Stall::default();
        while !self.recovery.widen(false) {
            let Ok(response) = timeout(CHECK_EVERY, responses.next()).await else {
                let end = connection::offsets(&link, &self.topic, self.partition).await?.end;
                if self.recovery.widen(end <= self.position) {
                    break;
                }
                let patience = self.judging.stall_after * 2_u32.pow(self.recovery.faults());
                if stall.lasts(self.position, end, Instant::now(), patience) {
                    return self.repair(Fault::Missing, "the stream is silent and the log has more").await;
                }
                continue;
            };
            let response = response.transpose().map_err(|error| link.broken(Some(error)))?;
            let response = response.ok_or_else(|| link.broken(None))?;
            acknowledge(&link, response.stream_id, &response.partition).await?;
            if let Some((fault, reason)) = self.absorb(response.partition).await? {
                return self.repair(fault, &reason).await;
            }
        }
        Ok(())
    }

    fn request(&self) -> StreamFetchRequest<Slice> {
        let mut request = StreamFetchRequest::default();
        request.topic.clone_from(&self.topic);
        request.partition = self.partition;
        request.fetch_offset = self.position;
        request.max_bytes = i32::try_from(self.recovery.room()).unwrap_or(i32::MAX);
        request.smartmodules = vec![self.invocation.clone()];
        request
    }

    /// Gives the verdicts of an answer to the host, as far as they are contiguous.
    async fn absorb(&mut self, answer: Answer) -> Result<Option<(Fault, String)>, End> {
        let Verdicts { outputs, mut fault } = verdicts(answer.records.0);
        let mut inputs = Vec::with_capacity(outputs.len());
        for Verdict { offset, key, output } in outputs {
            if offset < self.position {
                continue;
            }
            if offset > self.position {
                self.give(&mut inputs, answer.high_watermark).await?;
                if !self.accept_holes(offset).await? {
                    fault = Some((Fault::Missing, format!("offset {offset} came next")));
                    break;
                }
            }
            inputs.push(Input::Judged { offset, key, output, build: Arc::clone(&self.judging.module.build) });
            self.position = offset + 1;
        }
        self.give(&mut inputs, answer.high_watermark).await?;
        match self.fault_of(answer.error_code)? {
            None => Ok(fault),
            reported => Ok(fault.or(reported)),
        }
    }

    async fn give(&mut self, inputs: &mut Vec<Input>, log_end: i64) -> Result<(), Closed> {
        if !inputs.is_empty() {
            self.recovery.progressed();
            self.retry.reset();
        }
        self.outlet.inputs(std::mem::take(inputs), log_end).await
    }

    /// What a code says about the module; codes about anything else are errors.
    fn fault_of(&self, code: ErrorCode) -> Result<Option<(Fault, String)>, Error> {
        if let ErrorCode::SmartModuleRuntimeError(error) = &code
            && error.offset == self.position
        {
            return Ok(Some((Fault::Record, code.to_string())));
        }
        if is_of_the_module(&code) {
            return Ok(Some((Fault::Module, code.to_string())));
        }
        check_read(&self.topic, self.partition, self.position, code)?;
        Ok(None)
    }

    /// Accepts the offsets before `to` as holes if the log has no records there.
    async fn accept_holes(&mut self, to: i64) -> Result<bool, End> {
        while self.position < to {
            let pulled = self.puller.pull(self.position).await?;
            let first = pulled.records.first().map_or(pulled.next_offset, |record| record.offset).min(to);
            if first == self.position {
                return Ok(false);
            }
            self.give_holes(first, pulled.log_end).await?;
        }
        Ok(true)
    }

    async fn give_holes(&mut self, to: i64, log_end: i64) -> Result<(), Closed> {
        let holes = (self.position..to).map(|offset| Input::Hole { offset }).collect();
        self.position = self.position.max(to);
        self.outlet.inputs(holes, log_end).await
    }

    /// Looks at what the log has at the position and does what [`recovery`] says.
    async fn repair(&mut self, fault: Fault, reason: &str) -> Result<(), End> {
        let mut found = self.puller.batches(self.position).await?;
        found.batches.retain(|batch| batch.next_offset() > self.position);
        let Some(batch) = found.batches.first() else {
            debug!(topic = self.topic, partition = self.partition, reason, "A module failed on an empty log.");
            tokio::time::sleep(self.retry.pause()).await;
            return Ok(());
        };
        let cure = self.recovery.cure(self.position, fault, Size { records: batch.offsets(), bytes: batch.bytes() });
        count(&self.outlet.counters.faults, 1);
        warn!(
            topic = self.topic,
            partition = self.partition,
            position = self.position,
            ?fault,
            ?cure,
            reason = shortened(reason),
            "A judged stream did not give the next record."
        );
        if let Cure::JudgeNatively { batches } = cure {
            for batch in found.batches.iter().take(batches) {
                let records = self.puller.records(batch)?;
                self.judge_natively(records, batch.next_offset(), found.log_end).await?;
            }
        }
        Ok(())
    }

    async fn judge_natively(&mut self, records: Vec<Record>, to: i64, log_end: i64) -> Result<(), Closed> {
        for record in records {
            if record.offset < self.position {
                continue;
            }
            self.give_holes(record.offset, log_end).await?;
            let output = (self.judging.fallback.judge)(&record).into();
            let build = Arc::clone(&self.judging.fallback.build);
            let input = Input::Judged { offset: record.offset, key: record.key, output, build };
            self.position = record.offset + 1;
            count(&self.outlet.counters.judged_natively, 1);
            self.outlet.inputs(vec![input], log_end).await?;
        }
        self.give_holes(to, log_end).await
    }
}

/// Tells the broker at once that an answer has come, so that it makes the next one meanwhile.
async fn acknowledge(link: &Link, session_id: u32, answer: &Answer) -> Result<(), Error> {
    if answer.error_code != ErrorCode::None || answer.next_filter_offset <= 0 {
        return Ok(());
    }
    let update = OffsetUpdate { offset: answer.next_filter_offset, session_id };
    link.call("an acknowledgement", UpdateOffsetsRequest::new(vec![update])).await?;
    Ok(())
}

/// One output of a module, with the offset that its header names.
struct Verdict {
    offset: i64,
    key: Option<Bytes>,
    output: Bytes,
}

/// The outputs of an answer up to the first that is none.
struct Verdicts {
    outputs: Vec<Verdict>,
    fault: Option<(Fault, String)>,
}

fn verdicts(slice: Bytes) -> Verdicts {
    let mut outputs = Vec::new();
    for batch in batch::cut(slice).batches {
        let records = match batch.records() {
            Ok(records) => records,
            Err(corrupt) => return Verdicts { outputs, fault: Some((Fault::Module, corrupt.0.to_owned())) },
        };
        for Record { key, value, .. } in records {
            match Header::decode(&value) {
                Ok((header, _)) => outputs.push(Verdict { offset: header.offset, key, output: value }),
                Err(error) => return Verdicts { outputs, fault: Some((Fault::Module, error.to_string())) },
            }
        }
    }
    Verdicts { outputs, fault: None }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the broker's codes are many and the list is not ours")]
fn is_of_the_module(code: &ErrorCode) -> bool {
    /// How the broker reports a trap; there is no code for it.
    const TRAP: &str = "SmartModule";

    match code {
        ErrorCode::Other(text) => text.contains(TRAP),
        code => matches!(
            code,
            ErrorCode::SmartModuleError
                | ErrorCode::SmartModuleInvalid { .. }
                | ErrorCode::SmartModuleInvalidExports { .. }
                | ErrorCode::SmartModuleRuntimeError(_)
                | ErrorCode::SmartModuleChainInitError(_)
                | ErrorCode::SmartModuleInitError(_)
                | ErrorCode::SmartModuleLookBackError(_)
                | ErrorCode::SmartModuleMemoryLimitExceeded { .. }
        ),
    }
}

/// The part of a broker's message that fits a log line; a trap comes with its backtrace.
fn shortened(reason: &str) -> &str {
    const CHARS: usize = 300;
    reason.char_indices().nth(CHARS).map_or(reason, |(at, _)| &reason[..at])
}

/// Since when the log has had more than the stream gave.
#[derive(Debug, Default)]
struct Stall {
    since: Option<(i64, Instant)>,
}

impl Stall {
    /// Whether the stream has stood at `position` for `patience` while the log ends later.
    fn lasts(&mut self, position: i64, end: i64, now: Instant, patience: Duration) -> bool {
        let since = match self.since {
            Some((at, since)) if at == position => since,
            Some(_) | None => now,
        };
        self.since = (end > position).then_some((position, since));
        self.since.is_some() && now.duration_since(since) >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(3);

    fn at(seconds: u64) -> Instant {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        *START.get_or_init(Instant::now) + Duration::from_secs(seconds)
    }

    #[test]
    fn a_stream_that_stands_still_while_the_log_has_more_is_stalled() {
        let mut stall = Stall::default();

        assert!(!stall.lasts(5, 9, at(0), PATIENCE));
        assert!(!stall.lasts(5, 9, at(2), PATIENCE));
        assert!(stall.lasts(5, 9, at(3), PATIENCE));
    }

    #[test]
    fn a_stream_that_moves_or_has_caught_up_is_not_stalled() {
        let mut stall = Stall::default();

        assert!(!stall.lasts(5, 9, at(0), PATIENCE));
        assert!(!stall.lasts(6, 9, at(4), PATIENCE));
        assert!(!stall.lasts(9, 9, at(8), PATIENCE));
        assert!(!stall.lasts(9, 10, at(12), PATIENCE));
    }
}

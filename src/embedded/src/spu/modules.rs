//! What a chain of modules makes of a log, with the habits of a real SPU.
//!
//! A stream's modules are resolved once, when it opens, and stay what they were (M6). A run reads whole batches up to
//! the end of their segment, puts them through the chain one by one and packs the output into one batch:
//!
//! * M2: output that would pass `max_bytes` ends the run; its batch is run again next time. If it was the first
//!   output, nothing is sent and the position jumps to the high watermark. So it does when everything was filtered.
//! * M3: a record that a module refuses ends the run: what came before it is sent with the error, and the next offset
//!   is behind the refused record's whole batch, or the high watermark when there was no output.
//! * M4: a trap throws away the whole run and ends the stream, naming no offset.
//! * M5: a module that forgets memory traps after some hundred megabytes, because a chain lives as long as its stream.
//! * M7: the batch has no timestamps, and offsets that count output records from the first input batch's base; deltas
//!   of later batches are shifted with the wrong sign, which only shows when a client looks at them.
//!
//! A call cannot be interrupted, so every chain has a thread of its own that no other stream waits for (M8).

use std::{io, mem, sync::Arc, sync::mpsc, thread};

use bytes::Bytes;
use eddy_engine::{Chain, Error, Module, Output, SmartModuleTransformRuntimeError, decompress};
use fluvio_protocol::link::ErrorCode;
use fluvio_spu_schema::server::smartmodule::{
    SmartModuleContextData, SmartModuleInvocation, SmartModuleInvocationWasm, SmartModuleKind,
};
use tokio::sync::oneshot;

use crate::{
    log::Log,
    meta::Metadata,
    spu::fetch::error_code,
    wire::{Batch, Builder, encoded_len},
};

/// How much of the log is read at a time; a run goes on until its output is full.
const READ_BYTES: u64 = 1 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What one run is for the stream.
#[derive(Debug)]
pub(super) enum Judged {
    /// Nothing to send; go on from there.
    Nothing { next: i64 },
    /// One batch (or none, beside an error), and what the client is to acknowledge.
    Answer { code: ErrorCode, next: i64, records: Bytes },
}

type Outcome = Result<Judged, ErrorCode>;

/// The stream's side of a chain's thread; dropping it ends the thread after its present call.
#[derive(Debug)]
pub(super) struct Judge {
    start: Option<oneshot::Receiver<Result<(), ErrorCode>>>,
    jobs: mpsc::Sender<(i64, oneshot::Sender<Outcome>)>,
    ahead: Option<(i64, oneshot::Receiver<Outcome>)>,
}

/// The modules that a stream names, as this SPU knows them now.
pub(super) fn resolve(meta: &Metadata, invocations: Vec<SmartModuleInvocation>) -> Result<Vec<Module>, ErrorCode> {
    invocations.into_iter().map(|invocation| resolve_one(meta, invocation)).collect()
}

/// Starts a thread that builds the chain and then runs it over the log when asked.
pub(super) fn start(modules: Vec<Module>, log: Arc<Log>, bytes_max: u64) -> io::Result<Judge> {
    let (started, start) = oneshot::channel();
    let (jobs, asked) = mpsc::channel::<(i64, oneshot::Sender<Outcome>)>();
    thread::Builder::new().name("module-stream".to_owned()).spawn(move || {
        let chain = match Chain::new(&modules) {
            Ok(chain) => chain,
            Err(error) => return drop(started.send(Err(start_code(&modules, error)))),
        };
        if started.send(Ok(())).is_err() {
            return;
        }
        let mut runner = Runner { chain, log, bytes_max };
        while let Ok((position, answer)) = asked.recv() {
            // A stream that is gone does not want to know, and takes its sender along.
            answer.send(runner.run(position)).ok();
        }
    })?;
    Ok(Judge { start: Some(start), jobs, ahead: None })
}

impl Judge {
    /// Waits until the chain is built.
    pub(super) async fn started(&mut self) -> Result<(), ErrorCode> {
        match self.start.take() {
            Some(start) => start.await.unwrap_or_else(|_| Err(thread_ended())),
            None => Ok(()),
        }
    }

    /// What the chain makes of the log from the position on.
    pub(super) async fn judged(&mut self, position: i64) -> Outcome {
        let outcome = match self.ahead.take() {
            Some((prepared, outcome)) if prepared == position => outcome,
            _ => self.ask(position),
        };
        outcome.await.unwrap_or_else(|_| Err(thread_ended()))
    }

    /// Has the next outcome made while the client is still busy with the last one.
    pub(super) fn run_ahead(&mut self, position: i64) {
        self.ahead = Some((position, self.ask(position)));
    }

    fn ask(&self, position: i64) -> oneshot::Receiver<Outcome> {
        let (answer, outcome) = oneshot::channel();
        // Should the thread be gone, the answer's sender goes too, and that is what the receiver then says.
        self.jobs.send((position, answer)).ok();
        outcome
    }
}

struct Runner {
    chain: Chain,
    log: Arc<Log>,
    bytes_max: u64,
}

impl Runner {
    fn run(&mut self, position: i64) -> Outcome {
        let until = self.log.segment_end(position).map_err(error_code)?;
        let mut run = Run::new(position);
        while run.next < until {
            let slice = self.log.whole_slice(run.next, READ_BYTES).map_err(error_code)?;
            let stored = slice.read().map_err(|error| ErrorCode::Other(format!("slice not readable: {error}")))?;
            let batches = Batch::split_all(stored).map_err(|malformed| ErrorCode::Other(malformed.to_string()))?;
            for batch in batches {
                let output = judge(&mut self.chain, &batch).map_err(run_code)?;
                if run.take(&batch, output, self.bytes_max) == Step::Full {
                    return Ok(run.finish(&self.log));
                }
            }
        }
        Ok(run.finish(&self.log))
    }
}

/// One answer in the making.
struct Run {
    /// The offset after what was put through the chain.
    next: i64,
    /// The base of the first batch that gave output, even if that did not fit.
    base: Option<i64>,
    packed: Builder,
    packed_bytes: u64,
    refused: Option<SmartModuleTransformRuntimeError>,
}

#[derive(PartialEq, Eq)]
enum Step {
    More,
    Full,
}

impl Run {
    fn new(position: i64) -> Self {
        Self { next: position, base: None, packed: Builder::default(), packed_bytes: 0, refused: None }
    }

    fn take(&mut self, batch: &Batch, output: Output, bytes_max: u64) -> Step {
        self.refused = output.error;
        if !output.records.is_empty() {
            let base = *self.base.get_or_insert(batch.base_offset());
            self.packed_bytes += encoded_len(&output.records) as u64;
            if self.packed_bytes > bytes_max {
                return Step::Full;
            }
            let shift = base - batch.base_offset();
            for record in &output.records {
                self.packed.push(record, shift);
            }
        }
        self.next = batch.end_offset();
        if self.refused.is_some() { Step::Full } else { Step::More }
    }

    fn finish(self, log: &Log) -> Judged {
        let sent = self.base.filter(|_| !self.packed.is_empty());
        let code = match self.refused {
            Some(refused) => ErrorCode::SmartModuleRuntimeError(Box::new(refused)),
            None => ErrorCode::None,
        };
        match sent {
            Some(base) => {
                let records = self.packed.finish(base, self.next - base).into();
                Judged::Answer { code, next: self.next, records }
            }
            None if code.is_error() => Judged::Answer { code, next: log.end_offset(), records: Bytes::new() },
            None => Judged::Nothing { next: log.end_offset() },
        }
    }
}

fn judge(chain: &mut Chain, batch: &Batch) -> Result<Output, Error> {
    let records = decompress(batch.codec(), batch.records())?;
    chain.process(records.into_owned(), batch.base_offset(), batch.first_timestamp_ms())
}

fn resolve_one(meta: &Metadata, mut invocation: SmartModuleInvocation) -> Result<Module, ErrorCode> {
    if invocation.params.lookback().is_some() {
        return Err(ErrorCode::SmartModuleLookBackError("this node does not look back".to_owned()));
    }
    let accumulator = if let SmartModuleKind::Aggregate { accumulator }
    | SmartModuleKind::Generic(SmartModuleContextData::Aggregate { accumulator }) =
        &mut invocation.kind
    {
        Some(mem::take(accumulator))
    } else {
        None
    };
    let (name, wasm) = match invocation.wasm {
        SmartModuleInvocationWasm::AdHoc(wasm) => {
            (invocation.name.unwrap_or_else(|| "adhoc".to_owned()), Bytes::from(wasm))
        }
        SmartModuleInvocationWasm::Predefined(name) => {
            let wasm = meta.smartmodule(&name).ok_or_else(|| ErrorCode::SmartModuleNotFound { name: name.clone() })?;
            (name, wasm)
        }
    };
    if !wasm.starts_with(&GZIP_MAGIC) {
        // A real SPU unzips whatever it is given.
        return Err(ErrorCode::SmartModuleInvalid { error: "invalid gzip header".to_owned(), name: Some(name) });
    }
    Ok(Module { name, wasm, params: invocation.params, accumulator })
}

fn start_code(modules: &[Module], error: Error) -> ErrorCode {
    match error {
        Error::Unpack { name, source } => ErrorCode::SmartModuleInvalid { error: source.to_string(), name: Some(name) },
        Error::Memory { requested, max } => ErrorCode::SmartModuleMemoryLimitExceeded { requested, max },
        Error::Init(refused) => ErrorCode::SmartModuleInitError(refused),
        Error::Start(_) | Error::Trap(_) | Error::Decompress(_) => {
            let names: Vec<_> = modules.iter().map(|module| module.name.as_str()).collect();
            ErrorCode::SmartModuleChainInitError(format!("[{}]: {error}", names.join(", ")))
        }
    }
}

fn run_code(error: Error) -> ErrorCode {
    if matches!(error, Error::Decompress(_)) {
        return ErrorCode::CompressionError;
    }
    ErrorCode::Other(format!("SmartModule err {error}"))
}

fn thread_ended() -> ErrorCode {
    ErrorCode::Other("the stream's module thread ended".to_owned())
}

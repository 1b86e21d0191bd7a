//! The `stdout` sink: one line per record, for trying and for pipes.
//!
//! A line is the original bytes with every line break in them replaced by a space. In a JSON document line breaks
//! stand only between tokens, so it stays the same document. Lines never mix, because one thread writes all of them;
//! it takes what has gathered and flushes once. A reader that does not read holds the deliveries back; one that has
//! gone away makes them fail.

use std::{
    io::{self, Write},
    thread,
};

use bytes::Bytes;
use eddy_contract::{Code, SideEffect};
use eddy_topology::{effect::Delivery, outcome::Outcome};
use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::{mpsc, oneshot};

use super::{Sink, failed};

/// Lines that may wait for the thread.
const QUEUE_MAX: usize = 1024;

/// Lines that are written together.
const BATCH_MAX: usize = 256;

/// See the module's documentation.
#[derive(Debug)]
pub struct Stdout {
    name: String,
    lines: mpsc::Sender<Line>,
}

#[derive(Debug)]
struct Line {
    payload: Bytes,
    done: oneshot::Sender<Outcome>,
}

impl Stdout {
    /// A sink that writes to this process's standard output.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(name: &str) -> io::Result<Self> {
        Self::to(name, io::stdout())
    }

    /// A sink that writes its lines elsewhere.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn to(name: &str, writer: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, queue) = mpsc::channel(QUEUE_MAX);
        thread::Builder::new().name("eddy-stdout".to_owned()).spawn(|| write_all(queue, writer))?;
        Ok(Self { name: name.to_owned(), lines })
    }
}

impl Sink for Stdout {
    fn name(&self) -> &str {
        &self.name
    }

    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome> {
        async move {
            let (done, answer) = oneshot::channel();
            let stopped = || failed(Code::Internal, SideEffect::Unknown, "the thread that writes lines has stopped");
            match self.lines.send(Line { payload: delivery.payload, done }).await {
                Ok(()) => answer.await.unwrap_or_else(|_| stopped()),
                Err(_) => stopped(),
            }
        }
        .boxed()
    }
}

/// Writes batches of lines until nobody can send any more.
fn write_all(mut queue: mpsc::Receiver<Line>, mut writer: impl Write) {
    let (mut batch, mut text) = (Vec::with_capacity(BATCH_MAX), Vec::new());
    while queue.blocking_recv_many(&mut batch, BATCH_MAX) > 0 {
        text.clear();
        for line in &batch {
            text.extend(line.payload.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
            text.push(b'\n');
        }
        let outcome = match writer.write_all(&text).and_then(|()| writer.flush()) {
            Ok(()) => Outcome::Delivered,
            // Part of the batch may have been read.
            Err(error) => failed(Code::Reset, SideEffect::Unknown, format!("cannot write: {error}")),
        };
        for line in batch.drain(..) {
            // Nobody waits for a delivery that was given up.
            drop(line.done.send(outcome.clone()));
        }
    }
}

#[cfg(test)]
mod tests;

//! The data services: what an SPU answers to producers and consumers.
//!
//! | module | serves |
//! |---|---|
//! | [`connection`] | frames to services and back; the streams of one client and their sessions |
//! | [`produce`] | appends |
//! | [`fetch`] | pull, and where logs begin and end |
//! | [`stream`] | push, and when the next answer may go |
//! | [`modules`] | what a chain makes of a log |
//! | [`offsets`] | what consumers commit |
//!
//! The habits of a real SPU that lose or repeat records for an unwary client are kept on purpose, each named where it
//! is (M1 to M13 are the project's numbers for them): a kinder node would hide the bugs that matter. There is no
//! switch that makes it kinder.

mod connection;
mod fetch;
mod modules;
mod offsets;
mod produce;
mod stream;

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::{data::DataPlane, listener, meta::Metadata, offsets::ConsumerOffsets};

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) data: Arc<DataPlane>,
    pub(crate) meta: Arc<Metadata>,
    pub(crate) offsets: Arc<ConsumerOffsets>,
}

/// Serves clients until the future is dropped; every connection and stream ends with it.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    listener::serve(listener, |stream| connection::run(stream, Arc::clone(&shared))).await;
}

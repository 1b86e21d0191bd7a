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

use tokio::{net::TcpListener, sync::Semaphore, task::JoinSet};

use crate::{data::DataPlane, meta::Metadata, offsets::ConsumerOffsets};

/// Clients beyond this wait to be accepted.
const CONNECTIONS_MAX: usize = 1024;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) data: Arc<DataPlane>,
    pub(crate) meta: Arc<Metadata>,
    pub(crate) offsets: Arc<ConsumerOffsets>,
}

/// Serves clients until the future is dropped; every connection and stream ends with it.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let permit = Arc::clone(&room).acquire_owned().await.expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, peer)) => {
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    if let Err(error) = connection::run(stream, shared).await {
                        tracing::debug!(%peer, %error, "connection ended");
                    }
                    drop(permit);
                });
            }
            Err(error) => tracing::warn!(%error, "a client could not be accepted"),
        }
        while connections.try_join_next().is_some() {}
    }
}

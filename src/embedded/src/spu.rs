//! (being written) The data services of the node, as an SPU offers them.

use std::sync::Arc;
use tokio::net::TcpListener;
use crate::{data::DataPlane, meta::Metadata, offsets::ConsumerOffsets};

/// What the data services share.
pub struct Shared {
    pub data: Arc<DataPlane>,
    pub meta: Arc<Metadata>,
    pub offsets: Arc<ConsumerOffsets>,
    /// How long after a module's `create` this SPU still runs the old build.
    pub module_lag_ms: u64,
}

/// Serves clients until the future is dropped; every connection and stream ends with it.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>) { todo!() }

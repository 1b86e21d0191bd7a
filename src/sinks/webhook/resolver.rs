//! Name resolution by the system, with an error type that can be told from a failed connect.

use std::{
    io,
    task::{Context, Poll},
};

use futures_util::{TryFutureExt, future::MapErr};
use hyper_util::client::legacy::connect::dns::{GaiAddrs, GaiFuture, GaiResolver, Name};
use tower_service::Service;

/// The name could not be resolved.
#[derive(Debug, thiserror::Error)]
#[error("the name cannot be resolved: {0}")]
pub(super) struct ResolveError(io::Error);

/// See the module's documentation.
#[derive(Debug, Clone)]
pub(super) struct Resolver(GaiResolver);

impl Resolver {
    pub(super) fn new() -> Self {
        Self(GaiResolver::new())
    }
}

impl Service<Name> for Resolver {
    type Response = GaiAddrs;
    type Error = ResolveError;
    type Future = MapErr<GaiFuture, fn(io::Error) -> ResolveError>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ResolveError>> {
        self.0.poll_ready(context).map_err(ResolveError)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        self.0.call(name).map_err(ResolveError)
    }
}

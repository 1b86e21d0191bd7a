//! Accepting clients: with a limit, without spinning when the system refuses, and with an end that ends them all.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Clients beyond this wait to be accepted.
const CONNECTIONS_MAX: usize = 1024;

/// How long to wait when a client cannot be accepted, mostly for want of file descriptors: trying at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Holds a conversation with every client until the future is dropped, which drops all conversations.
pub(crate) async fn serve<C>(listener: TcpListener, converse: impl Fn(TcpStream) -> C)
where
    C: Future<Output = io::Result<()>> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut conversations = JoinSet::new();
    loop {
        let place = Arc::clone(&room).acquire_owned().await.expect("the semaphore is never closed");
        match listener.accept().await {
            Ok((stream, peer)) => {
                let conversation = converse(stream);
                conversations.spawn(async move {
                    if let Err(error) = conversation.await {
                        tracing::debug!(%peer, %error, "A connection ended.");
                    }
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "A client could not be accepted.");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
        while conversations.try_join_next().is_some() {}
    }
}

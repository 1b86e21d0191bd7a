//! One connection to one Fluvio server, with a time limit around everything.
//!
//! A link is disposable: after any error it is dropped and a new one dialled. Fluvio's own client has no limit on
//! connecting and notices a half-open connection after two hours.

use std::{fmt::Debug, time::Duration};

use fluvio_protocol::api::Request;
use fluvio_sc_schema::TryEncodableFrom;
use fluvio_socket::{AsyncResponse, ClientConfig, MultiplexerSocket, SocketError, VersionedSerialSocket};
use tokio::time::timeout;

use super::Error;

/// The longest that connecting may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// The longest that a server may think about a request.
const CALL_MAX: Duration = Duration::from_secs(15);

/// See the module's documentation.
pub(crate) struct Link {
    socket: VersionedSerialSocket,
    address: String,
}

impl Link {
    /// Connects and asks the server which requests it knows.
    pub(crate) async fn open(config: ClientConfig) -> Result<Self, Error> {
        let address = config.addr().to_owned();
        let (socket, config, versions) = match timeout(CONNECT_MAX, config.connect()).await {
            Ok(Ok(connected)) => connected.split(),
            Ok(Err(error)) => return Err(Error::Unreachable { address, reason: error.to_string() }),
            Err(_) => return Err(timed_out("a connection", &address, CONNECT_MAX)),
        };
        Ok(Self { socket: VersionedSerialSocket::new(MultiplexerSocket::shared(socket), config, versions), address })
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn call<R>(&self, what: &'static str, request: R) -> Result<R::Response, Error>
    where
        R: Request + Send + Sync,
    {
        self.within(what, CALL_MAX, self.socket.send_receive(request)).await
    }

    /// Sends an administrative request, which has to be encoded for the version that both sides know.
    pub(crate) async fn ask<A, R>(&self, what: &'static str, request: R, limit: Duration) -> Result<A::Response, Error>
    where
        A: Request + TryEncodableFrom<R> + Send + Sync,
    {
        let broken = |reason: String| Error::Broken { address: self.address.clone(), reason };
        let version = self.socket.lookup_version::<A>();
        let request = A::try_encode_from(request, version.unwrap_or(A::DEFAULT_API_VERSION))
            .map_err(|error| broken(error.to_string()))?;
        let message = self.socket.new_request(request, version);
        self.within(what, limit, self.socket.send_and_receive(message)).await
    }

    /// Sends a request that is answered many times.
    pub(crate) async fn stream<R>(&self, what: &'static str, request: R) -> Result<AsyncResponse<R>, Error>
    where
        R: Request + Send + Sync,
    {
        /// Answers that wait unread before the connection stops reading. The server sends one and waits for its
        /// acknowledgement, so it is never reached.
        const QUEUED_ANSWERS_MAX: usize = 10;

        let message = self.socket.new_request(request, self.socket.lookup_version::<R>());
        self.within(what, CALL_MAX, self.socket.create_stream(message, QUEUED_ANSWERS_MAX)).await
    }

    /// The error of a stream that ended or broke.
    pub(crate) fn broken(&self, error: Option<SocketError>) -> Error {
        let reason = error.map_or_else(|| "the stream ended".to_owned(), |error| error.to_string());
        Error::Broken { address: self.address.clone(), reason }
    }

    async fn within<T>(
        &self,
        what: &'static str,
        limit: Duration,
        call: impl Future<Output = Result<T, SocketError>>,
    ) -> Result<T, Error> {
        match timeout(limit, call).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.broken(Some(error))),
            Err(_) => Err(timed_out(what, &self.address, limit)),
        }
    }
}

impl Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Link({})", self.address)
    }
}

fn timed_out(what: &'static str, address: &str, after: Duration) -> Error {
    let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
    Error::TimedOut { what, address: address.to_owned(), after_ms }
}

//! Frames: reading requests with a size limit, writing answers from many tasks over one socket.

use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use fluvio_protocol::{Decoder, Encoder, api::RequestHeader};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::Mutex,
};

/// Larger requests close the connection; a produce request of the SPU's own limit (32 MiB) fits well.
pub const FRAME_BYTES_MAX: usize = 64 << 20;
const READ_BUFFER_BYTES: usize = 64 << 10;
const LENGTH_BYTES: usize = 4;
const CORRELATION_BYTES: usize = 4;

/// A request whose body is not decoded yet.
#[derive(Debug)]
pub struct Request {
    /// Key, version and correlation id.
    pub header: RequestHeader,
    body: Bytes,
}

impl Request {
    /// How many bytes the request keeps in memory.
    pub fn body_len(&self) -> usize {
        self.body.len()
    }

    /// The body as the given type, at the version that the client chose.
    pub fn decode<X: Decoder + Default>(&self) -> io::Result<X> {
        X::decode_from(&mut self.body.clone(), self.header.api_version())
    }
}

/// The reading half of a connection.
#[derive(Debug)]
pub struct Reader(BufReader<OwnedReadHalf>);

impl Reader {
    /// The next request, or `None` when the client hung up between two of them.
    pub async fn next(&mut self) -> io::Result<Option<Request>> {
        let len = match self.0.read_i32().await {
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        let len = usize::try_from(len).ok().filter(|len| *len <= FRAME_BYTES_MAX).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("frame of {len} bytes, limit is {FRAME_BYTES_MAX}"))
        })?;
        let mut frame = BytesMut::zeroed(len);
        self.0.read_exact(&mut frame).await?;
        let mut body = frame.freeze();
        let header = RequestHeader::decode_from(&mut body, 0)?;
        Ok(Some(Request { header, body }))
    }
}

/// The writing half, shared by everything that answers on this connection.
///
/// A client that does not read holds the lock of its own sink and nothing else.
#[derive(Debug)]
pub struct Sink(Mutex<OwnedWriteHalf>);

impl Sink {
    /// Answers a request, at its version.
    pub async fn send(&self, header: &RequestHeader, body: &impl Encoder) -> io::Result<()> {
        let version = header.api_version();
        let len = CORRELATION_BYTES + body.write_size(version);
        let wire_len = i32::try_from(len)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "answer too long for a frame"))?;
        let mut frame = BytesMut::with_capacity(LENGTH_BYTES + len);
        frame.put_i32(wire_len);
        frame.put_i32(header.correlation_id());
        body.encode(&mut frame, version)?;
        self.0.lock().await.write_all(&frame).await
    }
}

/// Both halves of an accepted connection.
pub fn split(stream: TcpStream) -> io::Result<(Reader, Sink)> {
    stream.set_nodelay(true)?;
    let (read, write) = stream.into_split();
    Ok((Reader(BufReader::with_capacity(READ_BUFFER_BYTES, read)), Sink(Mutex::new(write))))
}

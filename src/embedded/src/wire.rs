//! Bytes on the connection: frames in, frames out, and batches that are never re-encoded.
//!
//! A request is a length, a header and a body at the version the header names; an answer is a length, the
//! request's correlation id and a body at the same version. Batches stay the bytes they are ([`RawSet`], [`Batch`]):
//! what a producer sent is what a consumer gets. Nothing here knows what a request means.

mod batch;
mod frame;
mod record;
mod set;
#[cfg(test)]
mod tests;

pub use batch::{Batch, Malformed, PREAMBLE_BYTES, whole_len};
pub use frame::{FRAME_BYTES_MAX, Reader, Request, Sink, split};
pub use record::{Builder, encoded_len};
pub use set::RawSet;

//! A record set whose batches stay as they came.

use std::io;

use bytes::{Buf, BufMut, Bytes};
use fluvio_protocol::{Decoder, Encoder, Version};

const LENGTH_BYTES: usize = 4;

/// Encoded batches, one after the other; taken out of a request without a copy.
#[derive(Debug, Default, Clone)]
pub struct RawSet(pub Bytes);

impl Decoder for RawSet {
    fn decode<T: Buf>(&mut self, src: &mut T, version: Version) -> io::Result<()> {
        let mut len = 0_i32;
        len.decode(src, version)?;
        let len = usize::try_from(len)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "record set of negative length"))?;
        if src.remaining() < len {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "record set is cut short"));
        }
        self.0 = src.copy_to_bytes(len);
        Ok(())
    }
}

impl Encoder for RawSet {
    fn write_size(&self, _: Version) -> usize {
        LENGTH_BYTES + self.0.len()
    }

    fn encode<T: BufMut>(&self, dest: &mut T, version: Version) -> io::Result<()> {
        let len = i32::try_from(self.0.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "record set too long for a frame"))?;
        len.encode(dest, version)?;
        dest.put_slice(&self.0);
        Ok(())
    }
}

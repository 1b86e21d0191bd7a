//! A cursor over bytes that others wrote: it moves forward, never beyond the end, and says `None` instead of panicking.

/// What is still unread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// The next `length` bytes.
    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next `N` bytes, for the big-endian integers.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    /// A zigzag varint, as Kafka and Fluvio write the numbers inside a record.
    pub(crate) fn varint(&mut self) -> Option<i64> {
        let mut bits = 0_u64;
        for (index, &byte) in self.0.iter().enumerate().take(VARINT_BYTES_MAX) {
            bits |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.0 = &self.0[index + 1..];
                return Some((bits >> 1) as i64 ^ -((bits & 1) as i64));
            }
        }
        None
    }

    /// A varint length and that many bytes.
    pub(crate) fn sized(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }
}

/// The longest varint of 64 bits.
const VARINT_BYTES_MAX: usize = 10;

/// Appends `length` as a zigzag varint.
pub(crate) fn put_length(length: usize, out: &mut Vec<u8>) {
    let mut bits = (length as u64) << 1;
    while bits >= 0x80 {
        out.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    out.push(bits as u8);
}

/// How many bytes [`put_length`] appends.
pub(crate) const fn length_bytes(length: usize) -> usize {
    let bits = (length as u64) << 1 | 1;
    (u64::BITS - bits.leading_zeros()).div_ceil(7) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_make_the_round_trip_and_are_as_long_as_announced() {
        for length in [0, 1, 63, 64, 8191, 8192, 1 << 20, (1 << 31) - 1] {
            let mut out = Vec::new();

            put_length(length, &mut out);

            assert_eq!(out.len(), length_bytes(length));
            assert_eq!(Bytes(&out).varint(), Some(length as i64));
        }
    }

    #[test]
    fn negative_varints_are_read_as_fluvio_writes_them() {
        assert_eq!(Bytes(&[0x01]).varint(), Some(-1));
        assert_eq!(Bytes(&[0x81, 0x80, 0x80, 0x80, 0x01]).varint(), Some(-134_217_729));
    }

    #[test]
    fn a_varint_without_an_end_is_refused() {
        assert_eq!(Bytes(&[0x80; 40]).varint(), None);
        assert_eq!(Bytes(&[]).varint(), None);
    }

    #[test]
    fn a_length_beyond_the_end_is_refused() {
        assert_eq!(Bytes(&[0x08, 1, 2, 3]).sized(), None);
        assert_eq!(Bytes(&[0x01, 1]).sized(), None, "negative");
    }
}

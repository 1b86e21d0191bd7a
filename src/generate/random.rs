//! Numbers from a seed: SplitMix64 (Steele, Lea and Flood, 2014). Small, well spread, the same everywhere, and no
//! secret is made of it.

/// A stream of numbers that its seed decides.
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `end`; the bias of the multiplication is far below what a load can show.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(end);
        u64::try_from(wide >> 64).expect("the upper half of a product of two 64-bit numbers has 64 bits")
    }

    /// A number of `from..=to`.
    pub(super) fn between(&mut self, from: i64, to: i64) -> i64 {
        from.saturating_add_unsigned(self.below(from.abs_diff(to) + 1))
    }

    /// An index into a list of `len` things.
    pub(super) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("an index is below a length that is a usize")
    }

    /// True `percent` times in a hundred.
    pub(super) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

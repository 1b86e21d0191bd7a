//! (being written) One partition's log.

/// The limits of one log; from the topic's storage settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogConfig {
    /// A segment is closed before it grows beyond this.
    pub segment_bytes_max: u64,
    /// Oldest closed segments go while the partition is larger.
    pub partition_bytes_max: u64,
    /// Closed segments go when they were last written longer ago.
    pub retention_secs: u64,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self { segment_bytes_max: 1 << 30, partition_bytes_max: 100 << 30, retention_secs: 7 * 24 * 3600 }
    }
}

/// One partition: its log and the offset after its last durable record.
#[derive(Debug)]
pub struct Replica;

impl Replica {
    pub fn topic(&self) -> &str { todo!() }
    pub fn partition(&self) -> u32 { todo!() }
    /// First readable offset.
    pub fn start_offset(&self) -> i64 { todo!() }
    /// Offset after the last durable record (LEO = HW).
    pub fn end_offset(&self) -> i64 { todo!() }
    /// Bytes on disk.
    pub fn size_bytes(&self) -> u64 { todo!() }
}

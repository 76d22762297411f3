//! Fields from the front of a fuzzer's bytes. Where they end everything is 0: any bytes have a meaning.

/// What is left of the bytes.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// Whether anything is left.
    pub fn more(&self) -> bool {
        !self.0.is_empty()
    }

    /// The next `count` bytes, or as many as there are.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut value = [0; N];
        let taken = self.bytes(N);
        value[..taken.len()].copy_from_slice(taken);
        value
    }

    /// One byte.
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Two bytes with a sign.
    pub fn i16(&mut self) -> i16 {
        i16::from_le_bytes(self.array())
    }

    /// Four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// One byte as a step of time in nanoseconds, from 0 to half a minute; the last four values are steps back
    /// and very long ones.
    pub fn step_ns(&mut self) -> i64 {
        match self.u8() {
            0 => 0,
            255 => -1_000_000,
            254 => -1,
            253 => 3_600_000_000_000,
            252 => 61_000_000_000,
            step => i64::from(8 + step % 8) << (step / 8),
        }
    }
}

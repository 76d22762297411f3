//! Fields from the front of a fuzzer's bytes. After the end everything is 0, so any bytes have a meaning.

/// The remaining bytes.
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// Returns whether any byte is left.
    pub fn more(&self) -> bool {
        !self.0.is_empty()
    }

    /// Takes the next `count` bytes, or as many as there are.
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

    /// Takes one byte.
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// Takes two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Takes two bytes as a signed number.
    pub fn i16(&mut self) -> i16 {
        i16::from_le_bytes(self.array())
    }

    /// Takes four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Takes eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// Takes one byte as a time step in nanoseconds, from 0 to half a minute; the last four values are steps back
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

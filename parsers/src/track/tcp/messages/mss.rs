//! Which segments are full: as long as the path lets a segment be, TCP options included (RFC 9293 3.7.1).

/// Below this a segment is taken for short while the MSS is not known: every host accepts as much, RFC 9293 3.7.1.
const SMALLEST_MSS: u32 = 536;
/// The longest single segment: a jumbo frame's.
const LARGEST_MSS: u32 = 9216;

/// What is known of the MSS of one direction. Lengths are of payload and TCP options together: a segment that
/// carries more options carries less payload, and is as full.
#[derive(Debug, Default)]
pub(crate) struct Mss {
    /// Largest length of a single segment without PUSH that came three times; 0 before.
    usual: u16,
    candidate: u16,
    times: u8,
}

/// One segment with payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    pub payload: u32,
    /// Length of the segment's TCP options in bytes.
    pub options: u32,
    /// Longest the other side accepts, options included, where known.
    pub accepted: Option<u32>,
    pub push: bool,
}

impl Mss {
    /// Returns whether it is the usual full segment.
    #[inline]
    pub(crate) fn is_usual(&self, payload: u32, options: u32) -> bool {
        payload + options == u32::from(self.usual)
    }

    /// Returns the largest payload seen often besides `options`, where there is one.
    #[inline]
    pub(crate) fn payload(&self, options: u32) -> Option<u32> {
        (self.usual > 0).then(|| u32::from(self.usual).saturating_sub(options))
    }

    /// Returns whether it is longer than one segment may be: several that were captured before they were divided.
    #[inline]
    pub(crate) fn is_several(&self, length: Length) -> bool {
        let most = match (self.usual, length.accepted) {
            (0, None) => LARGEST_MSS,
            (0, Some(accepted)) => accepted,
            (usual, _) => usual.into(),
        };
        length.payload.saturating_add(length.options) > most
    }

    /// Takes in a segment; returns whether it is no whole number of full ones.
    #[inline]
    pub(crate) fn is_short(&mut self, length: Length) -> bool {
        // The usual full segment, without a division.
        if self.is_usual(length.payload, length.options) {
            return false;
        }
        self.learn(length);
        let Length {
            payload, options, ..
        } = length;
        let fills = |most: u32| most > options && payload.is_multiple_of(most - options);
        if length.accepted.is_some_and(fills) {
            return false;
        }
        if self.usual == 0 {
            return length.accepted.is_some() || payload < SMALLEST_MSS;
        }
        !fills(u32::from(self.usual))
    }

    /// Learns the usual length. Small messages of one size are no MSS: every host takes longer segments. A segment with
    /// PUSH may be a whole write, of whatever size; without it, more was queued after the segment.
    #[inline]
    fn learn(&mut self, length: Length) {
        let whole = length.payload.saturating_add(length.options);
        let most = length.accepted.unwrap_or(LARGEST_MSS).min(LARGEST_MSS);
        if length.push
            || length.payload < SMALLEST_MSS
            || whole > most
            || whole <= u32::from(self.usual)
        {
            return;
        }
        if whole == u32::from(self.candidate) {
            self.times += 1;
            if self.times >= 3 {
                self.usual = self.candidate;
            }
        } else if whole > u32::from(self.candidate) || self.times < 2 {
            self.candidate = whole as u16;
            self.times = 1;
        }
    }
}

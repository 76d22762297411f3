//! IEEE 802.11, and the headers of drivers before it.

use super::{Layer, Stop, Walk};

/// Bits of radiotap's `Flags`: the frame header is padded to four bytes; its frame check sequence is wrong.
const PADDED: u8 = 0x20;
const DAMAGED: u8 = 0x40;
/// Bits of radiotap's first word: a timer of 8 bytes precedes `Flags`; `Flags` is present; another word follows.
const TIMER: u32 = 1;
const FLAGS: u32 = 1 << 1;
const MORE: u32 = 1 << 31;

impl Walk<'_> {
    /// Reads unencrypted IEEE 802.11 data frames; if several packets are in one frame, the first.
    pub(super) fn wireless(&mut self) -> Result<Layer, Stop> {
        let control = *self.chunk::<2>(0)?;
        self.data_frame(control, false)
    }

    /// Reads a frame in the tunnel of an access point; some access points swap the two bytes of frame control.
    pub(super) fn tunnelled_wireless(&mut self) -> Result<Layer, Stop> {
        let [first, second] = *self.chunk::<2>(0)?;
        if first & 0x0f != 0x08 && second & 0x0f == 0x08 {
            self.data_frame([second, first], false)
        } else {
            self.data_frame([first, second], false)
        }
    }

    /// Skips the header of a data frame; if `is_padded`, zeros follow it up to a multiple of four bytes.
    fn data_frame(&mut self, control: [u8; 2], is_padded: bool) -> Result<Layer, Stop> {
        // Version 0, type data, a subtype that carries data, not protected.
        if control[0] & 0x4f != 0x08 || control[1] & 0x40 != 0 {
            return Err(Stop::NotIp);
        }
        // Address of the transmitter, and sequence control: the numbers of the frame and of its fragment.
        let (sender, number) = (self.chunk::<6>(10)?, self.chunk::<2>(22)?);
        let sender = sender
            .iter()
            .fold(0, |all, &byte| all << 8 | u64::from(byte));
        self.packet.frame_number = sender << 16 | u64::from(u16::from_le_bytes(*number));
        self.packet.is_retry = control[1] & 0x08 != 0;
        let mut length: usize = 24;
        // To and from a distribution system: there is a fourth address.
        length += if control[1] & 3 == 3 { 6 } else { 0 };
        let quality = (control[0] & 0x80 != 0).then_some(length);
        if quality.is_some() {
            length += if control[1] & 0x80 != 0 { 6 } else { 2 };
        }
        if is_padded {
            length = length.next_multiple_of(4);
        }
        if let Some(quality) = quality {
            let aggregated = self.u8(quality)? & 0x80 != 0;
            let mesh = control[1] & 3 == 3 && self.u8(quality + 1)? & 1 != 0;
            // Flags, two of which count further addresses; remaining hops; a sequence number.
            length += if mesh {
                6 * (1 + usize::from(self.u8(length)? & 3))
            } else {
                0
            };
            if aggregated {
                self.packet.others = self.subframes(length).saturating_sub(1);
                // Addresses and length of the first subframe.
                length += 14;
            }
        }
        Ok(self.skip(length, Layer::Llc))
    }

    /// Counts the captured subframes of an A-MSDU, the first of which begins at `offset`: two addresses, a length, as
    /// many bytes, padding to a multiple of four (IEEE 802.11-2020 9.3.2.2.2).
    fn subframes(&self, mut offset: usize) -> u16 {
        let mut count = 0;
        while let Ok(length) = self.u16(offset + 12) {
            // Too short for LLC: this is padding, or the frame check sequence.
            if length < 8 || self.wire_left() < offset as u32 + 14 + u32::from(length) {
                break;
            }
            count += 1;
            offset += (14 + usize::from(length)).next_multiple_of(4);
        }
        count
    }

    /// Skips radiotap: a length, and the fields that the bits of its first words announce.
    pub(super) fn radiotap(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(u16::from_le_bytes(*self.chunk(2)?));
        let flags = self.radiotap_flags(length)?;
        if length < 8 {
            return Err(Stop::Malformed);
        }
        if flags & DAMAGED != 0 {
            return Err(Stop::Damaged);
        }
        self.at += length;
        let control = *self.chunk::<2>(0)?;
        self.data_frame(control, flags & PADDED != 0)
    }

    /// Reads `Flags` of a radiotap header of `length` bytes; 0 if it has none.
    fn radiotap_flags(&self, length: usize) -> Result<u8, Stop> {
        let word = |at: usize| Ok(u32::from_le_bytes(*self.chunk(at)?));
        let first = word(4)?;
        if first & FLAGS == 0 {
            return Ok(0);
        }
        let mut at = 4;
        while at + 4 <= length && word(at)? & MORE != 0 {
            at += 4;
        }
        at += 4;
        // Each field is aligned to its size.
        if first & TIMER != 0 {
            at = at.next_multiple_of(8) + 8;
        }
        if at < length { self.u8(at) } else { Ok(0) }
    }

    /// Skips Prism: a code and a length in the byte order of the machine, in a monitor header of fixed fields; some
    /// drivers write the AVS header under the same number.
    pub(super) fn prism(&mut self) -> Result<Layer, Stop> {
        if self.u32(0)? >> 12 == 0x80211 {
            return self.avs();
        }
        let length = *self.chunk::<4>(4)?;
        let length = u32::from_le_bytes(length).min(u32::from_be_bytes(length));
        if !(24..=1024).contains(&length) {
            return Err(Stop::Malformed);
        }
        self.at += length as usize;
        self.wireless()
    }

    /// Skips AVS: a magic number with a version, and a length.
    pub(super) fn avs(&mut self) -> Result<Layer, Stop> {
        let (magic, length) = (self.u32(0)?, self.u32(4)?);
        if magic >> 12 != 0x80211 || !(8..=1024).contains(&length) {
            return Err(Stop::Malformed);
        }
        self.at += length as usize;
        self.wireless()
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::made::{IP, all_lead_to_the_packet, decoded, zeros_then};
    use crate::decode::{Outcome, whole};

    const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

    /// Returns a data frame without quality of service.
    fn data() -> Vec<u8> {
        [&[8, 0][..], &[0; 22], &SNAP].concat()
    }

    #[test]
    fn a_mesh_has_more_addresses_than_a_bridge() {
        all_lead_to_the_packet([
            // 802.11 in a mesh, with a fifth and a sixth address; and between two bridges, without them.
            (
                105,
                [&[0x88, 3][..], &[0; 29], &[1, 2], &[0; 17], &SNAP].concat(),
            ),
            (105, [&[0x88, 3][..], &[0; 30], &SNAP].concat()),
        ]);
    }

    #[test]
    fn headers_of_drivers_lead_to_the_packet() {
        let prism = |code: &[u8], length: &[u8]| {
            let mut header = vec![0; 144];
            header[..4].copy_from_slice(code);
            header[4..8].copy_from_slice(length);
            header
        };
        let mut avs = vec![0x80, 0x21, 0x10, 0x01, 0, 0, 0, 64];
        avs.resize(64, 0);
        all_lead_to_the_packet([
            // In either byte order.
            (
                119,
                [prism(&[0x44, 0, 0, 0], &[144, 0, 0, 0]), data()].concat(),
            ),
            (
                119,
                [prism(&[0, 0, 0, 0x41], &[0, 0, 0, 144]), data()].concat(),
            ),
            (119, [avs.clone(), data()].concat()),
            (163, [avs, data()].concat()),
        ]);
        assert_eq!(decoded(119, &[0; 160]).outcome, Outcome::Malformed);
        assert_eq!(decoded(163, &[0; 160]).outcome, Outcome::Malformed);
    }

    /// <https://www.radiotap.org>, fields `TSFT` and `Flags`.
    #[test]
    fn flags_of_radiotap_are_found_behind_all_words_and_the_timer() {
        let quality = |padding: usize| {
            let header = [&[0x88, 0][..], &[0; 24]].concat();
            [header, vec![0; padding], SNAP.to_vec()].concat()
        };
        let tap = |words: &[u32], fields: &[u8]| {
            let length = 4 + 4 * words.len() + fields.len();
            let words = words.iter().flat_map(|word| word.to_le_bytes());
            let mut header = vec![0, 0, length as u8, 0];
            header.extend(words);
            header.extend(fields);
            header
        };
        let timer = [&[9; 8][..], &[0x20]].concat();
        let aligned = [&[0; 4][..], &timer].concat();
        all_lead_to_the_packet([
            (127, [tap(&[0], &[]), quality(0)].concat()),
            (127, [tap(&[2], &[0x10]), quality(0)].concat()),
            (127, [tap(&[2], &[0x20]), quality(2)].concat()),
            // Timestamps are aligned to multiples of 8.
            (127, [tap(&[3], &timer), quality(2)].concat()),
            (127, [tap(&[3 | 1 << 31, 0], &aligned), quality(2)].concat()),
            (
                127,
                [tap(&[2 | 1 << 31, 1 << 31, 0x20], &[0x20]), quality(2)].concat(),
            ),
            // There is no padding if the header ends at a multiple of 4.
            (127, [tap(&[2], &[0x20]), data()].concat()),
        ]);
        let damaged = [tap(&[2], &[0x50]), data()].concat();
        assert_eq!(decoded(127, &damaged).outcome, Outcome::BadChecksum);
    }

    #[test]
    fn a_frame_check_sequence_is_no_payload() {
        let tap = [0, 0, 9, 0, 2, 0, 0, 0, 0x10];
        let packet = whole(127, &[&tap[..], &data(), &IP, &[1, 2, 3, 4]].concat());
        assert_eq!((packet.payload, packet.ip_bytes), (0, 28));
        assert!(!packet.length_conflict);
    }

    /// IEEE 802.11-2020 9.3.2.2.2.
    #[test]
    fn subframes_behind_the_first_are_counted() {
        let subframe = |last: bool| {
            let mut frame = zeros_then(12, &[0, 36]);
            frame.extend(SNAP);
            frame.extend(IP);
            frame.resize(if last { 50 } else { 52 }, 0);
            frame
        };
        let header = [&[0x88, 0][..], &[0; 22], &[0x80, 0]].concat();
        for count in 1..4 {
            let frames = (1..=count).flat_map(|number| subframe(number == count));
            let frame: Vec<u8> = header.iter().copied().chain(frames).collect();
            for fcs in [0, 4] {
                let packet = whole(105, &[&frame[..], &vec![0; fcs]].concat());
                assert_eq!((packet.key.high_port, packet.others), (6, count - 1));
            }
        }
    }
}

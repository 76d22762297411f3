//! IEEE 802.11 to the network layer.

use super::{Layer, Stop, Walk};

impl Walk<'_> {
    /// IEEE 802.11 data frames that are not encrypted; of several in one, the first.
    pub(super) fn wireless(&mut self) -> Result<Layer, Stop> {
        let control = *self.chunk::<2>(0)?;
        // Version 0, type data, a subtype that carries data, not protected.
        if control[0] & 0x4f != 0x08 || control[1] & 0x40 != 0 {
            return Err(Stop::NotIp);
        }
        let mut length = 24;
        // To and from a distribution system: a fourth address.
        length += if control[1] & 3 == 3 { 6 } else { 0 };
        if control[0] & 0x80 != 0 {
            let aggregated = self.u8(length)? & 0x80 != 0;
            let mesh = control[1] & 3 == 3 && self.u8(length + 1)? & 1 != 0;
            length += if control[1] & 0x80 != 0 { 6 } else { 2 };
            // Flags, of which two count further addresses, hops that are left, a number.
            length += if mesh {
                6 * (1 + usize::from(self.u8(length)? & 3))
            } else {
                0
            };
            // Addresses and length of the first.
            length += if aggregated { 14 } else { 0 };
        }
        Ok(self.skip(length, Layer::Llc))
    }

    pub(super) fn radiotap(&mut self) -> Result<Layer, Stop> {
        let length = usize::from(u16::from_le_bytes(*self.chunk(2)?));
        self.at += length;
        self.wireless()
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::made::all_lead_to_the_packet;

    #[test]
    fn a_mesh_has_more_addresses_than_a_bridge() {
        let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
        all_lead_to_the_packet([
            // 802.11 in a mesh, with a fifth and a sixth address; and between two bridges, without.
            (
                105,
                [&[0x88, 3][..], &[0; 29], &[1, 2], &[0; 17], &snap].concat(),
            ),
            (105, [&[0x88, 3][..], &[0; 30], &snap].concat()),
        ]);
    }
}

//! Finds the final destination of source-routed IPv4 packets. It is the endpoint of the transport, from which the
//! answers come.

const LOOSE: u8 = 131;
const STRICT: u8 = 137;

/// Returns the final destination of a packet with these IPv4 options, RFC 791 3.1; none if no hop is left.
#[cold]
pub(super) fn ip4(mut options: &[u8]) -> Option<u32> {
    loop {
        let &[kind, ref rest @ ..] = options else {
            return None;
        };
        match kind {
            0 => return None,
            1 => options = rest,
            _ => {
                let length = usize::from(*rest.first()?);
                let option = options.get(..length)?;
                options = options.get(length.max(2)..)?;
                if kind == LOOSE || kind == STRICT {
                    let (&pointer, &last) = (option.get(2)?, option.get(3..)?.last_chunk()?);
                    return (usize::from(pointer) < length).then_some(u32::from_be_bytes(last));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_address_of_a_route_that_is_not_at_its_end() {
        let route = |pointer| [1, LOOSE, 11, pointer, 10, 0, 0, 1, 10, 0, 0, 2, 0, 0];
        assert_eq!(ip4(&route(4)), Some(0x0a00_0002));
        assert_eq!(ip4(&route(8)), Some(0x0a00_0002));
        assert_eq!(ip4(&route(12)), None);
        assert_eq!(ip4(&[STRICT, 7, 4, 10, 0, 0, 9]), Some(0x0a00_0009));
        // After timestamps; cut; without an address; without a length; at its end.
        assert_eq!(
            ip4(&[68, 4, 5, 0, STRICT, 7, 4, 1, 2, 3, 4]),
            Some(0x0102_0304)
        );
        for options in [
            &[LOOSE, 11, 4, 1, 2][..],
            &[LOOSE, 3, 1],
            &[LOOSE, 0],
            &[0, 1],
            &[7],
        ] {
            assert_eq!(ip4(options), None, "{options:?}");
        }
    }
}

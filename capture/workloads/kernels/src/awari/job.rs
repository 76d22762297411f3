//! Jobs that ranks send to each other, and how they are encoded in bytes.

/// Length of an encoded job: kind, stones, amount, 0, and the numbers of two boards.
pub const ENTRY_BYTES: usize = 12;

/// A job that one rank sends to another.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job {
    /// Look up a board of a smaller database, for the owner of `parent`.
    Query {
        stones: u8,
        captured: i8,
        child: u32,
        parent: u32,
    },
    /// A capture of `parent` is worth this.
    Worth { value: i8, parent: u32 },
    /// A successor of `parent` is won (or lost) for the player to move there.
    Child { won: bool, parent: u32 },
}

impl Job {
    pub(super) fn encode(self) -> [u8; ENTRY_BYTES] {
        let (kind, stones, amount, first, second) = match self {
            Self::Query {
                stones,
                captured,
                child,
                parent,
            } => (0, stones, captured, parent, child),
            Self::Worth { value, parent } => (1, 0, value, parent, 0),
            Self::Child { won, parent } => (2, 0, i8::from(won), parent, 0),
        };
        let mut entry = [0; ENTRY_BYTES];
        entry[..4].copy_from_slice(&[kind, stones, amount as u8, 0]);
        entry[4..8].copy_from_slice(&u32::to_le_bytes(first));
        entry[8..].copy_from_slice(&u32::to_le_bytes(second));
        entry
    }

    pub(super) fn decode(entry: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let [kind, stones, amount, _, p0, p1, p2, p3, c0, c1, c2, c3] = *entry;
        let parent = u32::from_le_bytes([p0, p1, p2, p3]);
        let amount = amount as i8;
        match kind {
            0 => Some(Self::Query {
                stones,
                captured: amount,
                child: u32::from_le_bytes([c0, c1, c2, c3]),
                parent,
            }),
            1 => Some(Self::Worth {
                value: amount,
                parent,
            }),
            2 => Some(Self::Child {
                won: amount != 0,
                parent,
            }),
            _ => None,
        }
    }
}

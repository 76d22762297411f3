//! Finds addresses that a router translates between two captures (NAT, RFC 3022): one host's capture has the host's own
//! address, another one has the address that stands for it.
//!
//! Only translations of addresses one to one are followed, which keep ports: a provider's public address for a virtual
//! machine, or a router with one busy host behind it. An address that stands for several hosts is left as it is.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use super::owners::Owners;
use super::point::{LOOKED_AT, Point, PointReader};
use super::sighting::{Lacking, Recognition, Sighting};
use super::translation::{Address, Translation};
use crate::common::error::Error;
use crate::common::progress::Progress;

/// Packets that must show a translation before it is believed.
const VOTES: u32 = 3;

/// Where a packet was sent and where it arrived: the point, and the addresses that it had there.
#[derive(Default)]
struct Ends {
    sent: Option<(u16, u128, u128)>,
    received: Option<(u16, u128, u128)>,
    /// Another packet looks the same.
    is_ambiguous: bool,
}

/// The translation for each point, from the first packets of all captures; these also tell how packets are recognised.
pub(super) fn find_translations(
    points: &[Point],
    owners: &Owners,
    recognition: &mut Recognition,
    progress: &Progress,
) -> Result<Vec<Translation>, Error> {
    let mut seen: HashMap<(u64, bool), Ends, RandomState> = HashMap::default();
    let untranslated = Translation::default();
    let (mut is_without_stamps, mut is_without_prefixes) = (false, [false; 2]);
    for (number, point) in points.iter().enumerate() {
        let mut reader = PointReader::new(point, &untranslated, progress)?;
        for _ in 0..LOOKED_AT {
            let Some(packet) = reader.next(recognition)? else {
                break;
            };
            is_without_stamps |= packet.lacks == Some(Lacking::Stamp);
            is_without_prefixes[usize::from(packet.v6)] |= packet.lacks == Some(Lacking::Prefix);
            note(
                &mut seen,
                &packet,
                number as u16,
                owners,
                &recognition.hashing,
            );
        }
    }
    recognition.is_without_stamps = is_without_stamps;
    recognition.is_without_prefixes = is_without_prefixes;
    Ok(elect(&count_votes(&seen), points.len(), owners))
}

/// Notes the addresses of a packet at `point`, if that is one end of it.
fn note(
    seen: &mut HashMap<(u64, bool), Ends, RandomState>,
    packet: &Sighting,
    point: u16,
    owners: &Owners,
    hashing: &RandomState,
) {
    let (sender, receiver) = owners.ends(packet);
    let is_end = (sender == Some(point)) != (receiver == Some(point));
    let Some(fingerprint) = fingerprint(packet, hashing).filter(|_| is_end) else {
        return;
    };
    let ends = seen.entry((fingerprint, packet.v6)).or_default();
    let end = if sender == Some(point) {
        &mut ends.sent
    } else {
        &mut ends.received
    };
    let addresses = (point, packet.source, packet.destination);
    ends.is_ambiguous |= end.replace(addresses).is_some();
}

/// Hash of what a translation of addresses leaves as it is; none of a packet that others may equal by chance.
fn fingerprint(packet: &Sighting, hashing: &RandomState) -> Option<u64> {
    if packet.tcp.is_none() && packet.ident == 0 {
        return None;
    }
    let mut hasher = hashing.build_hasher();
    hasher.write_u64(
        u64::from(packet.source_port) << 48
            | u64::from(packet.destination_port) << 32
            | u64::from(packet.ident) << 16
            | u64::from(packet.protocol),
    );
    hasher.write_u32(packet.payload);
    hasher.write_u32(packet.prefix.unwrap_or_default());
    if let Some(tcp) = packet.tcp {
        hasher.write_u64(u64::from(tcp.seq) << 32 | u64::from(tcp.ack));
        hasher.write_u16(tcp.flags);
    }
    Some(hasher.finish())
}

/// Packets that show, for a point and an address in its capture, that this stands for another one.
type Votes = HashMap<(u16, Address), BTreeMap<u128, u32>>;

fn count_votes(seen: &HashMap<(u64, bool), Ends, RandomState>) -> Votes {
    let mut votes = Votes::new();
    let mut vote = |point, address, own| {
        let own = votes.entry((point, address)).or_default().entry(own);
        *own.or_default() += 1;
    };
    for (&(_, v6), ends) in seen {
        if let (Some(sent), Some(received), false) = (ends.sent, ends.received, ends.is_ambiguous)
            && sent.0 != received.0
        {
            // Each host knows its own address: the sender that of the source, the receiver that of the destination.
            vote(received.0, (received.1, v6), sent.1);
            vote(sent.0, (sent.2, v6), received.2);
        }
    }
    votes
}

/// Translations that enough packets show and none contradicts. An address that was not translated votes for itself.
fn elect(votes: &Votes, points: usize, owners: &Owners) -> Vec<Translation> {
    let mut all = vec![Translation::default(); points];
    for (&(point, address), candidates) in votes {
        let mut candidates = candidates.iter();
        let (Some((&own, &count)), None) = (candidates.next(), candidates.next()) else {
            continue;
        };
        let owner = owners.owner(address);
        let is_others = owner.is_some() && owner != owners.owner((own, address.1));
        if own != address.0 && count >= VOTES && !is_others {
            all[usize::from(point)].add(address, own);
        }
    }
    all
}

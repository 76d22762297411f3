//! Finds addresses that a router translates between two captures (NAT, RFC 3022): the capture of one host has the
//! host's own address, another capture has the address that stands for it.
//!
//! An address that stands for one host and keeps its ports is translated as an address: a provider's public address for
//! a virtual machine, or a router with one busy host behind it. If it stands for several hosts, or if ports change,
//! each endpoint of a connection is translated separately, as the first packets of the connection show.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

use super::owners::Owners;
use super::point::{LOOKED_AT, Point, PointReader};
use super::sighting::{Lacking, Recognition, Sighting};
use super::translation::{Address, Endpoint, Translation};
use crate::common::error::Error;
use crate::common::progress::Progress;

/// How many packets must show a translation.
const VOTES: u32 = 3;
/// How many packets of each direction of a connection are used to find the translation of its endpoints.
const BEGINNING: u8 = 8;
/// Most packets of all captures that are stored to find translated endpoints.
const MOST_SEEN: usize = 1 << 23;

/// An address and a port as they are in a packet.
type Place = (u128, u16);

/// Where a packet was sent and where it arrived: the point, and the packet's source and destination there.
#[derive(Default)]
struct Ends {
    sent: Option<(u16, Place, Place)>,
    received: Option<(u16, Place, Place)>,
    /// Whether another packet looks the same.
    is_ambiguous: bool,
}

/// Packets of all captures, by a hash of what a translation leaves unchanged, by protocol, and by IP version (true is
/// IPv6).
type Seen = HashMap<(u64, u8, bool), Ends, RandomState>;

/// Returns the translation for each point, from the first packets of all captures; also finds how packets are
/// recognised.
pub(super) fn find_translations(
    points: &[Point],
    owners: &Owners,
    recognition: &mut Recognition,
    progress: &Progress,
) -> Result<Vec<Translation>, Error> {
    let mut seen = Seen::default();
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
            note(&mut seen, &packet, number, owners, recognition);
        }
    }
    recognition.is_without_stamps = is_without_stamps;
    recognition.is_without_prefixes = is_without_prefixes;
    let votes = count_votes(&seen);
    let mut all = vec![Translation::default(); points.len()];
    elect_addresses(&votes, &mut all, owners);
    if count_unexplained(&votes, &all, owners) >= VOTES {
        let seen = read_beginnings(points, owners, recognition, progress)?;
        elect_endpoints(&count_votes(&seen), &mut all, owners);
    }
    Ok(all)
}

/// Reads the first packets of each direction of each connection.
fn read_beginnings(
    points: &[Point],
    owners: &Owners,
    recognition: &Recognition,
    progress: &Progress,
) -> Result<Seen, Error> {
    let mut seen = Seen::default();
    let untranslated = Translation::default();
    for (number, point) in points.iter().enumerate() {
        let mut counts: HashMap<u64, u8, RandomState> = HashMap::default();
        let mut reader = PointReader::new(point, &untranslated, progress)?;
        while let Some(packet) = reader.next(recognition)? {
            if seen.len() >= MOST_SEEN {
                break;
            }
            let count = counts.entry(packet.direction).or_default();
            if *count < BEGINNING {
                *count += 1;
                note(&mut seen, &packet, number, owners, recognition);
            }
        }
    }
    Ok(seen)
}

/// Notes the endpoints of a packet at `point`, if that is either its sender or its receiver.
fn note(
    seen: &mut Seen,
    packet: &Sighting,
    point: usize,
    owners: &Owners,
    recognition: &Recognition,
) {
    let point = point as u16;
    let (sender, receiver) = owners.ends(packet);
    let is_end = (sender == Some(point)) != (receiver == Some(point));
    let fingerprint = fingerprint(packet, &recognition.hashing);
    let Some(fingerprint) = fingerprint.filter(|_| is_end) else {
        return;
    };
    let ends = seen
        .entry((fingerprint, packet.protocol, packet.v6))
        .or_default();
    let end = if sender == Some(point) {
        &mut ends.sent
    } else {
        &mut ends.received
    };
    let source = (packet.source, packet.source_port);
    let destination = (packet.destination, packet.destination_port);
    ends.is_ambiguous |= end.replace((point, source, destination)).is_some();
}

/// Returns a hash of the fields that a translation leaves unchanged; none if other packets may be equal by chance.
fn fingerprint(packet: &Sighting, hashing: &RandomState) -> Option<u64> {
    if packet.tcp.is_none() && packet.ident == 0 {
        return None;
    }
    let mut hasher = hashing.build_hasher();
    hasher.write_u64(u64::from(packet.ident) << 32 | u64::from(packet.payload));
    hasher.write_u32(packet.prefix.unwrap_or_default());
    if let Some(tcp) = packet.tcp {
        hasher.write_u64(u64::from(tcp.seq) << 32 | u64::from(tcp.ack));
        hasher.write_u16(tcp.flags);
    }
    Some(hasher.finish())
}

/// Numbers of packets that show, for a point and an endpoint in its capture, which endpoint of a host it stands for.
type Votes = HashMap<(u16, Endpoint), BTreeMap<Place, u32>>;

fn count_votes(seen: &Seen) -> Votes {
    let mut votes = Votes::new();
    let mut vote = |point, endpoint, own| {
        let own = votes.entry((point, endpoint)).or_default().entry(own);
        *own.or_default() += 1;
    };
    for (&(_, protocol, v6), ends) in seen {
        if let (Some(sent), Some(received), false) = (ends.sent, ends.received, ends.is_ambiguous)
            && sent.0 != received.0
        {
            let endpoint = |(address, port)| Endpoint {
                address: (address, v6),
                port,
                protocol,
            };
            // Each host knows its own address: the sender that of the source, the receiver that of the destination.
            vote(received.0, endpoint(received.1), sent.1);
            vote(sent.0, endpoint(sent.2), received.2);
        }
    }
    votes
}

/// Returns whether `address` may stand for `own`: not if it belongs to another captured host.
fn may_be(address: Address, own: u128, owners: &Owners) -> bool {
    let owner = owners.owner(address);
    owner.is_none() || owner == owners.owner((own, address.1))
}

/// Adds translations of addresses that enough packets with unchanged ports show and none contradicts. An untranslated
/// address votes for itself.
fn elect_addresses(votes: &Votes, all: &mut [Translation], owners: &Owners) {
    /// For each own address, the number of packets with an unchanged port.
    type Candidates = BTreeMap<u128, u32>;
    let mut by_address: HashMap<(u16, Address), Candidates> = HashMap::new();
    for (&(point, endpoint), candidates) in votes {
        let own = by_address.entry((point, endpoint.address)).or_default();
        for (&(address, port), &count) in candidates {
            *own.entry(address).or_default() += if port == endpoint.port { count } else { 0 };
        }
    }
    for ((point, address), candidates) in by_address {
        if let [(&own, &count)] = *Vec::from_iter(&candidates)
            && own != address.0
            && count >= VOTES
            && may_be(address, own, owners)
        {
            all[usize::from(point)].add_address(address, own);
        }
    }
}

/// Counts packets with an endpoint whose translation the translated addresses do not explain.
fn count_unexplained(votes: &Votes, all: &[Translation], owners: &Owners) -> u32 {
    let unexplained = votes.iter().map(|(&(point, endpoint), candidates)| {
        let known = all[usize::from(point)].find(endpoint);
        let others = candidates
            .iter()
            .filter(|&(&own, _)| own != known && may_be(endpoint.address, own.0, owners));
        others.map(|(_, &count)| count).sum::<u32>()
    });
    unexplained.sum()
}

/// Adds translations of endpoints that no packet contradicts, for pairs of addresses that enough packets show.
fn elect_endpoints(votes: &Votes, all: &mut [Translation], owners: &Owners) {
    let mut found = Vec::new();
    let mut counts: HashMap<(u16, Address, u128), u32> = HashMap::new();
    for (&(point, endpoint), candidates) in votes {
        if let [(&own, &count)] = *Vec::from_iter(candidates)
            && own != all[usize::from(point)].find(endpoint)
            && may_be(endpoint.address, own.0, owners)
        {
            let pair = (point, endpoint.address, own.0);
            *counts.entry(pair).or_default() += count;
            found.push((pair, endpoint, own));
        }
    }
    found.retain(|(pair, ..)| counts[pair] >= VOTES);
    for ((point, ..), endpoint, own) in found {
        all[usize::from(point)].add_endpoint(endpoint, own);
    }
}

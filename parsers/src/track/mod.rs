//! Assigns decoded packets to flows: which connection and direction each belongs to, and what is counted there.
//!
//! A chunk of packets goes through two steps. `connections` finds the connection of each packet, in the order of the
//! capture, and keeps what is common to a connection; `states` then counts connection after connection.

mod count;
mod find;
mod rdma;
mod rtt;
mod tcp;

pub(crate) use count::buckets::{bucket, bucket_bounds};
pub(crate) use count::direction::Direction;
pub(crate) use count::state::PacketFacts;
pub(crate) use count::states::States;
pub(crate) use find::connection::Connection;
pub(crate) use find::connections::{Connections, NONE};
pub(crate) use find::fragments::EarlyParts;
pub(crate) use find::grouping::Grouping;
pub(crate) use find::throughput::{Bin, Lane, Throughput};
pub(crate) use rdma::QueuePairs;
pub(crate) use rdma::queue_pair::{Counts, QueuePair};
pub(crate) use rtt::Rtt;
pub(crate) use tcp::limits::LimitTimes;
pub(crate) use tcp::messages::ended::{Ended, EndedRows, by_packet};
pub(crate) use tcp::messages::vantage::Vantage;
pub(crate) use tcp::messages::{MessageRow, NO_GAP, evidence};
pub(crate) use tcp::{RareCounts, SynOptions};

/// One direction of one connection that sent a packet, with the counts of the other side.
pub(crate) struct Side<'a> {
    pub number: u32,
    pub connection: &'a Connection,
    pub backward: bool,
    /// The sender is the key's higher endpoint.
    pub from_high: bool,
    pub own: &'a Direction,
    pub peer: Option<&'a Direction>,
}

/// Returns all directions by connection, forward first.
pub(crate) fn sides<'a>(
    connections: &'a Connections,
    states: &'a States,
) -> impl Iterator<Item = Side<'a>> {
    let mut all = connections.iter();
    let mut second = None;
    std::iter::from_fn(move || {
        loop {
            if let Some(side) = second.take() {
                return Some(side);
            }
            let (number, connection) = all.next()?;
            states.look_ahead(number);
            let Some(state) = states.get(number) else {
                continue;
            };
            let sides = state.sides.each_ref().map(Option::as_ref);
            let [low, high] = sides.map(|side| side.filter(|it| it.packets > 0));
            let side = |backward: bool| {
                let from_high = connection.forward_from_high() != backward;
                let (own, peer) = if from_high { (high, low) } else { (low, high) };
                Some(Side {
                    number,
                    connection,
                    backward,
                    from_high,
                    own: own?,
                    peer,
                })
            };
            second = side(true);
            if let Some(first) = side(false) {
                return Some(first);
            }
        }
    })
}

/// Returns the messages that are still being sent when the capture ends, by connection, forward first.
pub(crate) fn unfinished_messages(connections: &Connections, states: &States) -> EndedRows {
    let mut rows = EndedRows::default();
    for (number, connection) in connections.iter() {
        let forward = connection.forward_from_high();
        states.look_ahead(number);
        let Some(state) = states.get(number) else {
            continue;
        };
        for backward in [false, true] {
            let side = state.sides[usize::from(forward != backward)].as_ref();
            if let Some(side) = side {
                let mut ended = Ended {
                    connection: number,
                    position: 0,
                    backward,
                    rows: Some(&mut rows),
                };
                side.tcp.unfinished(connection.reset(), &mut ended);
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_stays_below_the_memory_it_is_promised() {
        let all = size_of::<Connection>() + size_of::<count::state::ConnectionState>();
        let sender = size_of::<tcp::sender::Sender>();
        let pair = size_of::<QueuePair>();
        println!("{all} bytes, {sender} for each side that sends data, {pair} for a queue pair");
        assert!(all <= 512);
        assert!(sender <= 416);
        assert!(pair <= 512);
    }
}

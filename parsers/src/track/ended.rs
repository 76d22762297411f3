//! Messages that ended in a chunk, on their way from the connections to the table.

use super::messages::MessageRow;
use crate::memory::prefetch;

/// Takes the messages of one direction that ended.
pub(crate) struct Ended<'a> {
    pub connection: u32,
    /// Which packet of the chunk it is that ends messages.
    pub position: u32,
    pub backward: bool,
    /// None where messages are not wanted.
    pub rows: Option<&'a mut Rows>,
}

/// Messages in the order of connections.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub messages: Vec<MessageRow>,
    /// Which packet of the chunk ended each.
    pub positions: Vec<u32>,
}

impl Rows {
    pub(crate) fn clear(&mut self) {
        self.messages.clear();
        self.positions.clear();
    }
}

/// No message ends with a packet.
const NONE: u32 = u32::MAX;
/// More than one does: without it the message behind is not even looked at.
const SEVERAL: u32 = 1 << 31;
/// Messages between asking for one's memory and using it.
const AHEAD: usize = 16;

/// Messages of `lists` in the order of the `packets` that ended them, whatever the lists: one of several threads is
/// longer. Those of one packet, which lie side by side, stay as they are.
pub(crate) fn by_packet(
    lists: &[Rows],
    packets: usize,
) -> impl Iterator<Item = MessageRow> + Send + '_ {
    let order = order(lists, packets);
    let mut starts = Vec::with_capacity(lists.len());
    let mut number = 0;
    for list in lists {
        starts.push(number);
        number += list.messages.len();
    }
    let message = move |number: u32| {
        let number = number as usize;
        let list = starts.partition_point(|&start| start <= number) - 1;
        &lists[list].messages[number - starts[list]]
    };
    (0..order.len()).map(move |index| {
        if let Some(&next) = order.get(index + AHEAD) {
            prefetch(message(next));
        }
        *message(order[index])
    })
}

/// Numbers of the messages, counted through all `lists`, by packet.
fn order(lists: &[Rows], packets: usize) -> Vec<u32> {
    let total = lists.iter().map(|list| list.positions.len()).sum();
    // The first message of each packet.
    let mut firsts = vec![NONE; if total > 0 { packets } else { 0 }];
    let mut number = 0;
    for list in lists {
        for same in list.positions.chunk_by(|one, other| one == other) {
            let several = if same.len() > 1 { SEVERAL } else { 0 };
            firsts[same[0] as usize] = number | several;
            number += same.len() as u32;
        }
    }
    let positions = || lists.iter().flat_map(|list| &list.positions);
    let mut order = Vec::with_capacity(total);
    for first in firsts.into_iter().filter(|&first| first != NONE) {
        let number = first & !SEVERAL;
        order.push(number);
        if first != number {
            let mut same = positions().skip(number as usize);
            let packet = same.next();
            let more = same
                .take_while(|&position| Some(position) == packet)
                .count();
            order.extend((number + 1..).take(more));
        }
    }
    order
}

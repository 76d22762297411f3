//! Notes the fate of every frame: in the counters of its direction, and in the log where there is one.

use flowsweep_links::{Drop, Reason};

use super::{Fabric, Leaving, Trip};
use crate::error::Error;
use crate::fates::{self, Fate, Fates, Record};
use crate::switch::PortIndex;

impl Fabric {
    /// Notes that the interface took the first frame that is due at a port; returns when it was due.
    pub fn sent(&mut self, port: PortIndex, sent_ns: u64) -> Option<u64> {
        let Leaving { deliver_ns, trip } = self.leaving[port].pop_front()?;
        let counters = &mut self.lanes[trip.lane].counters;
        counters.deliver(trip.frame.len() as u64);
        let fate = if trip.copy {
            Fate::Duplicate
        } else {
            Fate::Delivered
        };
        self.log(&trip, deliver_ns, sent_ns, fate);
        Some(deliver_ns)
    }

    /// Notes that the interface refused the first frame that is due at a port.
    pub fn refused(&mut self, port: PortIndex) {
        if let Some(Leaving { deliver_ns, trip }) = self.leaving[port].pop_front() {
            let bytes = trip.frame.len() as u64;
            let counters = &mut self.lanes[trip.lane].counters;
            counters.leave(bytes).send.add(bytes);
            self.log(&trip, deliver_ns, 0, Fate::Send);
        }
    }

    pub(super) fn count_drops(&mut self) {
        for port in 0..self.up.len() {
            for (way, fate) in [
                (&mut self.up, Fate::Uplink),
                (&mut self.down, Fate::Downlink),
            ] {
                let Some(way) = &mut way[port] else { continue };
                for Drop { item, .. } in way.take_dropped() {
                    let counters = &mut self.lanes[item.lane].counters;
                    let bytes = item.frame.len() as u64;
                    let fates = counters.leave(bytes);
                    match fate {
                        Fate::Uplink => fates.uplink.add(bytes),
                        _ => fates.downlink.add(bytes),
                    }
                    log(self.fates.as_mut(), &item, 0, 0, fate);
                }
            }
        }
        for lane in &mut self.lanes {
            for drop in lane.link.take_dropped() {
                let Drop {
                    at_ns,
                    reason,
                    member,
                    mut item,
                } = drop;
                let bytes = item.frame.len() as u64;
                let fates = lane.counters.leave(bytes);
                let (counter, fate) = match reason {
                    Reason::Queue => (&mut fates.queue, Fate::Queue),
                    Reason::Codel => (&mut fates.codel, Fate::Codel),
                    Reason::Loss => (&mut fates.loss, Fate::Loss),
                };
                counter.add(bytes);
                item.member = member as u8;
                item.depart_ns = if reason == Reason::Loss { at_ns } else { 0 };
                log(self.fates.as_mut(), &item, 0, 0, fate);
            }
        }
    }

    pub(super) fn log(&mut self, trip: &Trip, deliver_ns: u64, sent_ns: u64, fate: Fate) {
        log(self.fates.as_mut(), trip, deliver_ns, sent_ns, fate);
    }

    /// Ends the log; frames still on their way are noted as such.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.fates.is_none() {
            return Ok(());
        }
        let leaving = self.leaving.iter_mut().flat_map(|queue| queue.drain(..));
        let mut left: Vec<_> = leaving.map(|leaving| leaving.trip).collect();
        let lanes = self.lanes.iter_mut().map(|lane| &mut lane.link);
        let uplinks = self.up.iter_mut().chain(&mut self.down).flatten();
        for direction in lanes.chain(uplinks) {
            while let Some(arrival) = direction.take_due(u64::MAX) {
                left.push(arrival.item);
            }
            left.extend(direction.take_dropped().map(|drop| drop.item));
        }
        for trip in left {
            self.log(&trip, 0, 0, Fate::InFlight);
        }
        self.fates.take().map_or(Ok(()), Fates::finish)
    }
}

fn log(fates: Option<&mut Fates>, trip: &Trip, deliver_ns: u64, sent_ns: u64, fate: Fate) {
    let Some(fates) = fates else { return };
    fates.record(&Record {
        number: trip.number,
        arrive_ns: trip.arrive_ns,
        depart_ns: trip.depart_ns,
        deliver_ns,
        sent_ns,
        bytes: trip.frame.len() as u32,
        crc32: fates::crc32(&trip.frame),
        link: trip.lane as u16,
        member: trip.member,
        fate,
    });
}

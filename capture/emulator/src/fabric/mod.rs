//! Turns frames that enter at a port into frames that are due at another: uplink, link, and uplink of the far site.
//!
//! ```text
//! enter -> up[from] -> lane (from, to) -> down[to] -> leaving[to]
//! ```
//!
//! Uplinks are links without delay; a site without one is passed at once. Every stage computes with the times of the
//! stage before, so it does not matter how late it is asked.

mod accounts;

use std::collections::VecDeque;
use std::rc::Rc;

use flowsweep_links::flow;
use flowsweep_links::{Arrival, Direction, Parameters};

use crate::config::{Applied, Network};
use crate::fates::{Fate, Fates};
use crate::stats::LinkCounters;
use crate::switch::{PortIndex, Route};

/// A frame on its way, with what is known about it so far.
#[derive(Debug, Clone)]
pub struct Trip {
    /// The direction it goes.
    pub lane: usize,
    number: u64,
    arrive_ns: u64,
    depart_ns: u64,
    member: u8,
    copy: bool,
    /// Its bytes.
    pub frame: Rc<[u8]>,
}

/// A frame that is due at a port.
#[derive(Debug)]
pub struct Leaving {
    /// When it was due.
    pub deliver_ns: u64,
    /// The frame.
    pub trip: Trip,
}

/// One direction between two ports.
pub struct Lane {
    /// Port that frames come from.
    pub from: PortIndex,
    /// Port that frames go to.
    pub to: PortIndex,
    /// The emulated direction, with the frames in flight.
    pub link: Direction<Trip>,
    /// Counters since the start.
    pub counters: LinkCounters,
}

/// All lanes and uplinks.
pub struct Fabric {
    /// In the order of the configuration.
    pub lanes: Vec<Lane>,
    /// Per port that frames come from: the lanes from there.
    from: Vec<Vec<usize>>,
    /// Per port that frames go to: the lanes to there.
    to: Vec<Vec<usize>>,
    up: Vec<Option<Direction<Trip>>>,
    down: Vec<Option<Direction<Trip>>>,
    /// Per port: frames that are due there.
    pub leaving: Vec<VecDeque<Leaving>>,
    fates: Option<Fates>,
}

impl Fabric {
    /// Creates idle lanes and uplinks; `names` are those of the ports.
    pub fn new(
        network: &Network,
        parameters: &[Applied],
        seed: u64,
        names: &[&str],
        fates: Option<Fates>,
    ) -> Self {
        let mut fabric = Self {
            lanes: Vec::new(),
            from: vec![Vec::new(); names.len()],
            to: vec![Vec::new(); names.len()],
            up: vec![None; names.len()],
            down: vec![None; names.len()],
            leaving: names.iter().map(|_| VecDeque::new()).collect(),
            fates,
        };
        for applied in parameters {
            match *applied {
                Applied::Direction(index, parameters) => {
                    let planned = &network.directions()[index];
                    let (from, to) = (planned.from, planned.to);
                    fabric.from[from].push(index);
                    fabric.to[to].push(index);
                    fabric.lanes.push(Lane {
                        from,
                        to,
                        link: Direction::new(parameters, seed, [names[from], names[to]]),
                        counters: LinkCounters::default(),
                    });
                }
                Applied::Uplink(port, parameters) => {
                    let new = |way| Some(Direction::new(parameters, seed, [names[port], way]));
                    (fabric.up[port], fabric.down[port]) = (new("up"), new("down"));
                }
            }
        }
        fabric
    }

    /// Lets a frame of `wire_bytes` enter at a port; of an oversize one, `bytes` has only the beginning. Returns false
    /// when it goes nowhere.
    pub fn enter(
        &mut self,
        port: PortIndex,
        route: Route,
        arrive_ns: u64,
        bytes: &[u8],
        wire_bytes: usize,
    ) -> bool {
        let mut shared: Option<Rc<[u8]>> = None;
        for position in 0..self.from[port].len() {
            let index = self.from[port][position];
            let lane = &mut self.lanes[index];
            match route {
                Route::Port(to) if lane.to != to => continue,
                Route::Nowhere => return false,
                Route::Port(_) | Route::Flood => {}
            }
            let frame = shared.get_or_insert_with(|| bytes.into());
            let trip = Trip {
                lane: index,
                number: lane.counters.received,
                arrive_ns,
                depart_ns: 0,
                member: 0,
                copy: false,
                frame: Rc::clone(frame),
            };
            if bytes.len() < wire_bytes {
                lane.counters.drop_oversize(wire_bytes as u64);
                self.log(&trip, 0, 0, Fate::Oversize);
                continue;
            }
            lane.counters.accept(wire_bytes as u64);
            match &mut self.up[port] {
                Some(up) => offer(up, arrive_ns, trip),
                None => offer(&mut lane.link, arrive_ns, trip),
            }
        }
        shared.is_some()
    }

    /// Moves every frame that is due by now on to its port.
    pub fn advance(&mut self, now_ns: u64) {
        for port in 0..self.up.len() {
            while let Some(arrival) = self.up[port].as_mut().and_then(|up| up.take_due(now_ns)) {
                let lane = &mut self.lanes[arrival.item.lane];
                offer(&mut lane.link, arrival.deliver_ns, arrival.item);
            }
        }
        for port in 0..self.to.len() {
            while let Some(arrival) = self.next_at(port, now_ns) {
                let trip = self.passed(&arrival);
                match &mut self.down[port] {
                    Some(down) => offer(down, arrival.deliver_ns, trip),
                    None => self.leaving[port].push_back(Leaving {
                        deliver_ns: arrival.deliver_ns,
                        trip,
                    }),
                }
            }
            while let Some(arrival) = self.down[port]
                .as_mut()
                .and_then(|down| down.take_due(now_ns))
            {
                self.leaving[port].push_back(Leaving {
                    deliver_ns: arrival.deliver_ns,
                    trip: arrival.item,
                });
            }
        }
        self.count_drops();
    }

    /// Returns the first frame of all lanes to a port that is due by now.
    fn next_at(&mut self, port: PortIndex, now_ns: u64) -> Option<Arrival<Trip>> {
        // One lane in most networks: nothing to compare.
        if let [only] = self.to[port][..] {
            return self.lanes[only].link.take_due(now_ns);
        }
        loop {
            let next = self.to[port].iter().filter_map(|&index| {
                let due_ns = self.lanes[index].link.next_ns()?;
                (due_ns <= now_ns).then_some((due_ns, index))
            });
            let (_, index) = next.min()?;
            // There is no arrival if the frame that was due is dropped.
            if let Some(arrival) = self.lanes[index].link.take_due(now_ns) {
                return Some(arrival);
            }
        }
    }

    /// Returns the trip of a frame with what the link did to it.
    fn passed(&mut self, arrival: &Arrival<Trip>) -> Trip {
        let mut trip = arrival.item.clone();
        trip.depart_ns = arrival.depart_ns;
        trip.member = arrival.member as u8;
        trip.copy = arrival.copy;
        if arrival.copy {
            let counters = &mut self.lanes[trip.lane].counters;
            counters.duplicate(trip.frame.len() as u64);
        }
        trip
    }

    /// Returns the earliest time at which a frame has to be moved on.
    pub fn next_ns(&self) -> Option<u64> {
        let uplinks = self.up.iter().chain(&self.down).flatten();
        let lanes = self.lanes.iter().map(|lane| &lane.link);
        uplinks.chain(lanes).filter_map(Direction::next_ns).min()
    }

    /// Returns whether no frame is on its way.
    pub fn is_empty(&self) -> bool {
        let mut uplinks = self.up.iter().chain(&self.down).flatten();
        uplinks.all(Direction::is_empty)
            && self.lanes.iter().all(|lane| lane.link.is_empty())
            && self.leaving.iter().all(VecDeque::is_empty)
    }

    /// Sets other parameters from this time on.
    pub fn apply(&mut self, applied: Applied, at_ns: u64) {
        let set = |direction: &mut Direction<Trip>, parameters: Parameters| {
            direction.set(parameters, at_ns);
        };
        match applied {
            Applied::Direction(index, parameters) => set(&mut self.lanes[index].link, parameters),
            Applied::Uplink(port, parameters) => {
                let ways = [&mut self.up[port], &mut self.down[port]];
                for way in ways.into_iter().flatten() {
                    set(way, parameters);
                }
            }
        }
        self.count_drops();
    }

    /// Returns the shortest propagation delay.
    pub fn shortest_ns(&self) -> u64 {
        let delays = self.lanes.iter().map(|lane| {
            let parameters = lane.link.parameters();
            // Jitter may shorten it, nearly always by less than three standard deviations.
            let early = parameters.jitter.map_or(0.0, |jitter| 3.0 * jitter.std_ns);
            parameters.delay_ns.saturating_sub(early as u64)
        });
        delays.min().unwrap_or(0)
    }
}

/// Offers a frame to a stage.
fn offer(stage: &mut Direction<Trip>, arrival_ns: u64, trip: Trip) {
    let Parameters { parallel, hash, .. } = *stage.parameters();
    let flow = if parallel > 1 {
        flow::number(&trip.frame, hash)
    } else {
        0
    };
    stage.offer(arrival_ns, trip.frame.len() as u64, trip.number, flow, trip);
}

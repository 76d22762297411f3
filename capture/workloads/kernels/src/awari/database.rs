//! Retrograde analysis, one rank's part (Romein and Bal 2003; Verstoep et al. 2008, section 4).
//!
//! Databases are built one by one (0, 1, 2, ... stones). First every capture asks the owner of the smaller database for
//! its value. Then, for a growing bound, boards whose player can force at least the bound are found, and those whose
//! opponent can, backwards from the ends of the game. No rank waits for another: work is sent as jobs to the rank that
//! owns a board.

use super::job::{ENTRY_BYTES, Job};
use super::{MAX_STONES, Moves, board, boards, moves, number, predecessors};
use crate::outbox::Outbox;

const NOTHING: i8 = i8::MIN;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Open,
    Won,
    Lost,
}

struct Entry {
    /// The best capture, or the end of the game; NOTHING if there is neither.
    best: i8,
    /// Moves without capture.
    quiet: u8,
    /// Those that are not yet known to be won by the opponent, at this bound.
    left: u8,
    status: Status,
}

/// The boards of one rank: number `n` belongs to rank `n % ranks`.
pub struct Databases {
    rank: usize,
    ranks: usize,
    done: Vec<Vec<i8>>,
    stones: usize,
    /// 0 while captures are looked up.
    bound: i8,
    entries: Vec<Entry>,
    scanned: usize,
    resolved: Vec<u32>,
    jobs: Vec<Job>,
    /// Boards found won or lost at this bound.
    pub found: u64,
    /// Jobs for the other ranks.
    pub outbox: Outbox,
}

impl Databases {
    /// Creates a share without a database.
    pub fn new(rank: usize, ranks: usize) -> Option<Self> {
        (rank < ranks).then(|| Self {
            rank,
            ranks,
            done: Vec::new(),
            stones: 0,
            bound: 0,
            entries: Vec::new(),
            scanned: 0,
            resolved: Vec::new(),
            jobs: Vec::new(),
            found: 0,
            outbox: Outbox::new(ranks, ENTRY_BYTES),
        })
    }

    /// Begins the next database; returns the most boards that any rank has of it, or none if it is too large.
    pub fn begin(&mut self) -> Option<usize> {
        self.stones = self.done.len();
        if self.stones > MAX_STONES {
            return None;
        }
        self.bound = 0;
        self.scanned = 0;
        let all = boards(self.stones) as usize;
        let own = (all + self.ranks - 1 - self.rank) / self.ranks;
        self.entries.clear();
        self.entries.extend((0..own).map(|_| Entry {
            best: NOTHING,
            quiet: 0,
            left: 0,
            status: Status::Open,
        }));
        self.done.push(vec![0; own]);
        Some(all.div_ceil(self.ranks))
    }

    /// Begins the next bound of this database; no rank may still work on the last one.
    pub fn raise(&mut self) {
        self.settle();
        self.bound += 1;
        self.scanned = 0;
        self.found = 0;
        for entry in &mut self.entries {
            entry.left = entry.quiet;
            entry.status = Status::Open;
        }
    }

    /// Keeps the results of the last bound.
    pub fn settle(&mut self) {
        let values = self.done.last_mut().expect("a database was begun");
        for (value, entry) in values.iter_mut().zip(&self.entries) {
            match entry.status {
                Status::Won => *value = self.bound,
                Status::Lost => *value = -self.bound,
                Status::Open => {}
            }
        }
    }

    /// Returns the values of this rank for a number of stones.
    pub fn values(&self, stones: usize) -> &[i8] {
        &self.done[stones]
    }

    /// Works: first on resolved boards, then on up to `scan_limit` boards in all. Returns the boards handled and jobs
    /// made, about `limit`; 0 if there is nothing to do.
    pub fn work(&mut self, limit: usize, scan_limit: usize) -> usize {
        let mut done = 0;
        while done < limit {
            if let Some(index) = self.resolved.pop() {
                done += 1 + self.tell_predecessors(index);
            } else if self.scanned < scan_limit.min(self.entries.len()) {
                let index = self.scanned;
                self.scanned += 1;
                done += 1;
                if self.bound == 0 {
                    done += self.look_up(index);
                } else {
                    self.resolve_alone(index);
                }
            } else {
                break;
            }
        }
        done
    }

    /// Takes in jobs from another rank; returns how many, or none if the bytes are no jobs.
    pub fn absorb(&mut self, bytes: &[u8]) -> Option<usize> {
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        for entry in entries {
            self.handle(Job::decode(entry)?)?;
        }
        rest.is_empty().then_some(entries.len())
    }

    fn global(&self, index: usize) -> u32 {
        (index * self.ranks + self.rank) as u32
    }

    fn issue(&mut self, job: Job) {
        let target = match job {
            Job::Query { child, .. } => child,
            Job::Worth { parent, .. } | Job::Child { parent, .. } => parent,
        };
        let owner = target as usize % self.ranks;
        if owner == self.rank {
            self.handle(job).expect("own jobs are possible");
        } else {
            self.outbox.push(owner, &job.encode());
        }
    }

    fn handle(&mut self, job: Job) -> Option<()> {
        match job {
            Job::Query {
                stones,
                captured,
                child,
                parent,
            } => {
                let values = self.done.get(usize::from(stones))?;
                let value = captured - values.get(child as usize / self.ranks)?;
                self.issue(Job::Worth { value, parent });
            }
            Job::Worth { value, parent } => {
                let entry = self.entries.get_mut(parent as usize / self.ranks)?;
                entry.best = entry.best.max(value);
            }
            Job::Child { won, parent } => {
                let index = parent as usize / self.ranks;
                let entry = self.entries.get_mut(index)?;
                if won {
                    entry.left -= 1;
                    if entry.left == 0 && entry.best <= -self.bound {
                        self.resolve(index, Status::Lost);
                    }
                } else {
                    self.resolve(index, Status::Won);
                }
            }
        }
        Some(())
    }

    fn look_up(&mut self, index: usize) -> usize {
        let parent = self.global(index);
        let mut jobs = std::mem::take(&mut self.jobs);
        match moves(&board(parent, self.stones)) {
            Moves::Over(value) => self.entries[index].best = value,
            Moves::Some(outcomes) => {
                for outcome in outcomes {
                    if outcome.captured == 0 {
                        self.entries[index].quiet += 1;
                        continue;
                    }
                    jobs.push(Job::Query {
                        stones: self.stones as u8 - outcome.captured,
                        captured: outcome.captured as i8,
                        child: number(&outcome.board),
                        parent,
                    });
                }
            }
        }
        self.issue_all(jobs)
    }

    fn resolve_alone(&mut self, index: usize) {
        let entry = &self.entries[index];
        if entry.best >= self.bound {
            self.resolve(index, Status::Won);
        } else if entry.left == 0 && entry.best <= -self.bound {
            self.resolve(index, Status::Lost);
        }
    }

    fn resolve(&mut self, index: usize, status: Status) {
        let entry = &mut self.entries[index];
        if entry.status == Status::Open {
            entry.status = status;
            self.found += 1;
            self.resolved.push(index as u32);
        }
    }

    fn tell_predecessors(&mut self, index: u32) -> usize {
        let won = self.entries[index as usize].status == Status::Won;
        let here = board(self.global(index as usize), self.stones);
        let mut jobs = std::mem::take(&mut self.jobs);
        predecessors(&here, |before| {
            jobs.push(Job::Child {
                won,
                parent: number(before),
            });
        });
        self.issue_all(jobs)
    }

    fn issue_all(&mut self, mut jobs: Vec<Job>) -> usize {
        let made = jobs.len();
        for job in jobs.drain(..) {
            self.issue(job);
        }
        self.jobs = jobs;
        made
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;

    /// Runs all ranks in one thread, until none has anything to do.
    fn run(parts: &mut [Databases]) {
        let mut message = [0; 100 * ENTRY_BYTES];
        let mut moved = true;
        while moved {
            moved = false;
            for from in 0..parts.len() {
                moved |= parts[from].work(50, usize::MAX) > 0;
                for to in 0..parts.len() {
                    let bytes = parts[from].outbox.take(to, &mut message);
                    assert!(parts[to].absorb(&message[..bytes]).is_some());
                    moved |= bytes > 0;
                }
            }
        }
    }

    #[test]
    fn any_number_of_ranks_builds_the_databases_of_forward_search() {
        let stones = 7;
        let expected = reference::solve(stones);
        for ranks in [1, 3] {
            let mut parts: Vec<Databases> = (0..ranks)
                .map(|rank| Databases::new(rank, ranks).unwrap())
                .collect();
            for n in 0..=stones {
                for part in &mut parts {
                    part.begin().unwrap();
                }
                run(&mut parts);
                for _ in 0..n {
                    parts.iter_mut().for_each(Databases::raise);
                    run(&mut parts);
                }
                parts.iter_mut().for_each(Databases::settle);
            }
            for (n, values) in expected.iter().enumerate() {
                for (index, &value) in values.iter().enumerate() {
                    let found = parts[index % ranks].values(n)[index / ranks];
                    assert_eq!(found, value, "{n} stones, board {index}, {ranks} ranks");
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_no_jobs_are_refused() {
        let mut part = Databases::new(0, 2).unwrap();
        part.begin().unwrap();
        assert_eq!(part.absorb(&[0; 13]), None);
        assert_eq!(part.absorb(&[9; 12]), None);
        assert!(Databases::new(2, 2).is_none());
    }
}

//! A plain file to windows, which several threads read side by side and one takes in their order.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::open_input::read_at;

/// Bytes of a window.
pub(super) const WINDOW: usize = 256 << 10;
/// Room in front of a window, for the rest of the one before.
pub(super) const FRONT: usize = 64 << 10;
/// Windows that are read, or wait to be taken, at most.
const WINDOWS: usize = 4;

/// Where a window's bytes are read to.
#[derive(Default)]
pub(super) struct Room {
    pub bytes: Vec<u8>,
    /// The thread that reads into it, in whose cache it is: another one would fetch all of it from there, only
    /// to write over it.
    reader: Option<usize>,
}

impl Room {
    /// `length` bytes for this thread to read into.
    pub(super) fn new(length: usize) -> Self {
        Self {
            bytes: vec![0; length],
            reader: rayon::current_thread_index(),
        }
    }
}

/// Rooms that are free.
#[derive(Default)]
pub(super) struct FreeRooms(Vec<Room>);

impl FreeRooms {
    pub(super) fn put(&mut self, room: Room) {
        if room.bytes.len() == FRONT + WINDOW {
            self.0.push(room);
        }
    }

    /// This thread's own, the latest; another's only where many are free.
    pub(super) fn take(&mut self) -> Option<Room> {
        let reader = rayon::current_thread_index();
        let own = self.0.iter().rposition(|room| room.reader == reader);
        if let Some(own) = own {
            return Some(self.0.remove(own));
        }
        let many = self.0.len() >= WINDOWS;
        let room = if many { self.0.pop() } else { None };
        room.map(|room| Room { reader, ..room })
    }
}

/// Reads ahead; only where [`several_threads`](crate::common::threads::several_threads) work.
pub(super) struct FileAhead {
    shared: Arc<SharedFile>,
    /// The window that is taken next.
    next: u64,
}

struct SharedFile {
    file: Arc<File>,
    /// Where the first window begins, and how many whole ones there are.
    begin: u64,
    windows: u64,
    state: Mutex<WindowQueue>,
    arrived: Condvar,
}

#[derive(Default)]
struct WindowQueue {
    /// Windows before this were begun to be read, ...
    begun: u64,
    /// ... and those before this may be.
    wanted: u64,
    /// Those that are read and not taken; none where less came than there was.
    read: HashMap<u64, Option<Room>>,
    free: FreeRooms,
    /// The next one is being waited for.
    waiting: bool,
}

impl FileAhead {
    /// Reads the bytes of `file` from `begin` to `end` ahead; `None` where they are too few for it.
    pub(super) fn new(file: &Arc<File>, begin: u64, end: u64) -> Option<Self> {
        let windows = end.saturating_sub(begin) / WINDOW as u64;
        (windows >= WINDOWS as u64).then(|| Self {
            shared: Arc::new(SharedFile {
                file: Arc::clone(file),
                begin,
                windows,
                state: Mutex::default(),
                arrived: Condvar::new(),
            }),
            next: 0,
        })
    }

    /// The next window, behind the room in front of it; `old` is room that is free again. None where no whole one follows.
    pub(super) fn take(&mut self, old: Room) -> Option<Room> {
        let shared = &self.shared;
        let mut state = shared.lock();
        state.free.put(old);
        let wanted = (self.next + WINDOWS as u64).min(shared.windows);
        for _ in state.wanted..wanted {
            let shared = Arc::clone(shared);
            rayon::spawn(move || drop(shared.read_one(shared.lock())));
        }
        state.wanted = wanted;
        if self.next == wanted {
            return None;
        }
        loop {
            if let Some(window) = state.read.remove(&self.next) {
                self.next += 1;
                return window;
            }
            state = if state.begun < state.wanted {
                shared.read_one(state)
            } else {
                // Another thread is reading it.
                state.waiting = true;
                let arrived = shared.arrived.wait(state);
                arrived.unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

impl Drop for FileAhead {
    fn drop(&mut self) {
        self.shared.lock().wanted = 0;
    }
}

impl SharedFile {
    fn lock(&self) -> MutexGuard<'_, WindowQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the first window that no thread has begun, if one is wanted.
    fn read_one<'a>(
        &'a self,
        mut state: MutexGuard<'a, WindowQueue>,
    ) -> MutexGuard<'a, WindowQueue> {
        let number = state.begun;
        if number >= state.wanted {
            return state;
        }
        state.begun += 1;
        let room = state.free.take();
        drop(state);
        let mut room = room.unwrap_or_else(|| Room::new(FRONT + WINDOW));
        let at = self.begin + number * WINDOW as u64;
        let got = read_at(&self.file, &mut room.bytes[FRONT..], at);
        let whole = got.is_ok_and(|got| got == WINDOW);
        let mut state = self.lock();
        state.read.insert(number, whole.then_some(room));
        if std::mem::take(&mut state.waiting) {
            self.arrived.notify_all();
        }
        state
    }
}

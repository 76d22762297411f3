//! Splits a plain file into windows, which several threads read in parallel and one thread takes in order.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::open_input::read_at;

/// Bytes of a window.
pub(super) const WINDOW: usize = 256 << 10;
/// Room before a window for the remainder of the previous one.
pub(super) const FRONT: usize = 64 << 10;
/// Most windows that are being read or wait to be taken.
const WINDOWS: usize = 4;

/// A buffer for the bytes of a window.
#[derive(Default)]
pub(super) struct Room {
    pub bytes: Vec<u8>,
    /// The thread that reads into the buffer and has it in its cache: another thread would fetch all of it from there,
    /// only to overwrite it.
    reader: Option<usize>,
}

impl Room {
    /// Allocates `length` bytes for this thread to read into.
    pub(super) fn new(length: usize) -> Self {
        Self {
            bytes: vec![0; length],
            reader: rayon::current_thread_index(),
        }
    }
}

/// Free buffers.
#[derive(Default)]
pub(super) struct FreeRooms(Vec<Room>);

impl FreeRooms {
    pub(super) fn put(&mut self, room: Room) {
        if room.bytes.len() == FRONT + WINDOW {
            self.0.push(room);
        }
    }

    /// Takes this thread's latest buffer; that of another thread only if many are free.
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

/// Reads ahead; used only if [`several_threads`](crate::common::threads::several_threads) work.
pub(super) struct FileAhead {
    shared: Arc<SharedFile>,
    /// The next window to take.
    next: u64,
}

struct SharedFile {
    file: Arc<File>,
    /// Where the first window begins, and the number of complete windows.
    begin: u64,
    windows: u64,
    state: Mutex<WindowQueue>,
    arrived: Condvar,
}

#[derive(Default)]
struct WindowQueue {
    /// Windows before this one have been started, ...
    begun: u64,
    /// ... and windows before this one may be.
    wanted: u64,
    /// Windows that are read but not taken; none if fewer bytes came than expected.
    read: HashMap<u64, Option<Room>>,
    free: FreeRooms,
    /// A thread waits for the next window.
    waiting: bool,
}

impl FileAhead {
    /// Reads the bytes of `file` from `begin` to `end` ahead; returns `None` if they are too few for that.
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

    /// Returns the next window, with the room before it; `old` is a buffer that is free again. None if no complete
    /// window follows.
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

    /// Reads the first window that no thread has started, if one is wanted.
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

//! Splits a compressed stream into windows: one thread at a time unpacks ahead, another takes them in order.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::ahead::{FRONT, FreeRooms, Room, WINDOW};
use super::open_input::Stream;

/// Most windows that wait to be taken: as many as a chunk of packets needs. With half as many, the thread that unpacks,
/// which is the bottleneck, would be idle while another thread counts.
const WINDOWS: usize = 8;

/// A part of the stream, after [`FRONT`] bytes of room.
pub(super) struct Window {
    pub room: Room,
    /// If the stream ends after this window: how it ended.
    pub end: Option<io::Result<()>>,
}

/// Reads ahead; used only if [`several_threads`](crate::common::threads::several_threads) work.
pub(super) struct Unpacking(Arc<SharedStream>);

struct SharedStream {
    state: Mutex<StreamQueue>,
    arrived: Condvar,
}

struct StreamQueue {
    /// The stream; `None` while a thread reads from it, and after its end.
    stream: Option<Stream>,
    read: VecDeque<Window>,
    /// Number of windows to read before they are taken.
    wanted: usize,
    free: FreeRooms,
    /// A task to read on is scheduled and has not begun.
    is_scheduled: bool,
    /// A thread waits for the next window.
    waiting: bool,
}

impl Unpacking {
    pub(super) fn new(stream: Stream) -> Self {
        Self(Arc::new(SharedStream {
            state: Mutex::new(StreamQueue {
                stream: Some(stream),
                read: VecDeque::new(),
                wanted: WINDOWS,
                free: FreeRooms::default(),
                is_scheduled: false,
                waiting: false,
            }),
            arrived: Condvar::new(),
        }))
    }

    /// Returns the next window; `old` is a buffer that is free again. None follows the one that reports the end.
    pub(super) fn take(&mut self, old: Room) -> Window {
        let mut state = self.0.lock();
        state.free.put(old);
        loop {
            if state.stream.is_some() && !state.is_scheduled {
                state.is_scheduled = true;
                let shared = Arc::clone(&self.0);
                rayon::spawn(move || shared.read_on());
            }
            if let Some(window) = state.read.pop_front() {
                return window;
            }
            state = if let Some(stream) = state.stream.take() {
                self.0.read_one(state, stream)
            } else {
                // Another thread is reading it.
                state.waiting = true;
                let arrived = self.0.arrived.wait(state);
                arrived.unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

impl Drop for Unpacking {
    fn drop(&mut self) {
        self.0.lock().wanted = 0;
    }
}

impl SharedStream {
    fn lock(&self) -> MutexGuard<'_, StreamQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until enough windows wait to be taken.
    fn read_on(&self) {
        let mut state = self.lock();
        state.is_scheduled = false;
        while state.read.len() < state.wanted
            && let Some(stream) = state.stream.take()
        {
            state = self.read_one(state, stream);
        }
    }

    fn read_one<'a>(
        &'a self,
        mut state: MutexGuard<'a, StreamQueue>,
        mut stream: Stream,
    ) -> MutexGuard<'a, StreamQueue> {
        let room = state.free.take();
        drop(state);
        let mut room = room.unwrap_or_else(|| Room::new(FRONT + WINDOW));
        let mut got = FRONT;
        let end = loop {
            if got == room.bytes.len() {
                break None;
            }
            match stream.read(&mut room.bytes[got..]) {
                Ok(0) => break Some(Ok(())),
                Ok(read) => got += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Some(Err(error)),
            }
        };
        room.bytes.truncate(got);
        let mut state = self.lock();
        if end.is_none() {
            state.stream = Some(stream);
        }
        state.read.push_back(Window { room, end });
        if std::mem::take(&mut state.waiting) {
            self.arrived.notify_all();
        }
        state
    }
}

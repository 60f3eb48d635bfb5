//! Standard error, written by a thread of its own: whoever reads it may stall, and nothing that logs waits for
//! that. Lines that find no room are counted, and the next line that does says how many.

use log::warn;
use std::io::{self, Write};
use std::mem;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What waits at most.
const MOST: usize = 1 << 20;
/// What may wait for a line that can itself wait: the rest is left for those that cannot.
const PATIENT: usize = 64 << 10;
/// How long the end of a process waits for what is left.
const FLUSH: Duration = Duration::from_secs(1);

/// Lines on their way to standard error.
pub(super) static STDERR: Lines = Lines {
    queue: Mutex::new(Queue {
        bytes: Vec::new(),
        lost: 0,
        is_busy: false,
        has_thread: false,
    }),
    changed: Condvar::new(),
};

pub(super) struct Lines {
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct Queue {
    /// Whole lines.
    bytes: Vec<u8>,
    lost: u64,
    /// Lines that were taken out are being written.
    is_busy: bool,
    has_thread: bool,
}

/// [`STDERR`] as the logger writes to it: each call is a whole line.
pub(super) struct Tail;

impl Write for Tail {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        STDERR.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Starts the thread, once; where the system has none, lines are written by whoever says them.
    pub(super) fn start(&'static self) {
        let mut queue = self.lock();
        if !queue.has_thread {
            let thread = std::thread::Builder::new().name("log".into());
            queue.has_thread = thread.spawn(|| self.run()).is_ok();
        }
    }

    fn push(&self, line: &[u8]) {
        let mut queue = self.lock();
        if !queue.has_thread {
            drop(queue);
            let _ = io::stderr().write_all(line);
            return;
        }
        match queue.bytes.len() + line.len() <= MOST {
            true => queue.bytes.extend_from_slice(line),
            false => queue.lost += 1,
        }
        drop(queue);
        self.changed.notify_all();
    }

    /// Waits until a line that is in no hurry has room.
    pub(super) fn wait_for_room(&self) {
        let mut queue = self.lock();
        while queue.bytes.len() > PATIENT {
            queue = self.wait(queue, FLUSH);
        }
    }

    /// Waits until everything is written, a second at most.
    pub(super) fn flush(&self) {
        let begin = Instant::now();
        let mut queue = self.lock();
        while (queue.is_busy || !queue.bytes.is_empty()) && begin.elapsed() < FLUSH {
            queue = self.wait(queue, FLUSH.saturating_sub(begin.elapsed()));
        }
    }

    fn run(&self) {
        let mut lines = Vec::new();
        loop {
            let lost = self.take(&mut lines);
            // Nobody can be told that nobody can be told.
            let _ = io::stderr().write_all(&lines);
            lines.clear();
            lines.shrink_to(PATIENT);
            if lost > 0 {
                warn!("{lost} lines of this log found no room while nobody read it");
            }
            self.lock().is_busy = false;
            self.changed.notify_all();
        }
    }

    /// The lines that wait, for an empty buffer; and how many found no room beside them.
    fn take(&self, lines: &mut Vec<u8>) -> u64 {
        let mut queue = self.lock();
        while queue.bytes.is_empty() {
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        mem::swap(&mut queue.bytes, lines);
        queue.is_busy = true;
        mem::take(&mut queue.lost)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>, most: Duration) -> MutexGuard<'a, Queue> {
        let waited = self.changed.wait_timeout(queue, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! Standard error, written by a thread of its own: its reader may stall, and no thread that logs waits for it.
//! Lines that do not fit into the buffer are counted, and the next line reports how many.

use log::error;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The thread's name.
pub(super) const THREAD: &str = "log";
/// Bytes that may wait to be written.
const MOST: usize = 1 << 20;
/// The part of them for lines whose writer can wait; the rest is for those that cannot.
const PATIENT: usize = 64 << 10;
/// How often a waiting writer polls.
const LOOK: Duration = Duration::from_secs(1);
/// Bytes that a pipe takes atomically with several writers: PIPE_BUF of Linux.
const WHOLE: usize = 4_096;
/// The pause between two attempts while standard error accepts nothing.
const RETRY: Duration = Duration::from_millis(10);

/// Lines that were not written and that no metric has counted yet.
static LOST: AtomicU64 = AtomicU64::new(0);

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
    /// Whole lines, each with its line end.
    bytes: Vec<u8>,
    /// Lines lost since the last line about lost lines.
    lost: u64,
    /// Lines that were taken out are being written.
    is_busy: bool,
    has_thread: bool,
}

impl Lines {
    /// Starts the thread once; without a thread, the caller writes its lines itself.
    pub(super) fn start(&'static self) {
        let mut queue = self.lock();
        if !queue.has_thread {
            let thread = std::thread::Builder::new().name(THREAD.into());
            queue.has_thread = thread.spawn(|| self.run()).is_ok();
        }
    }

    pub(super) fn push(&self, line: &[u8]) {
        let mut queue = self.lock();
        if !queue.has_thread {
            drop(queue);
            let _ = io::stderr().write_all(line);
            return;
        }
        match queue.bytes.len() + line.len() <= MOST {
            true => queue.bytes.extend_from_slice(line),
            false => queue.lose(1),
        }
        drop(queue);
        self.changed.notify_all();
    }

    /// Waits until a line that can wait fits into the buffer.
    pub(super) fn wait_for_room(&self) {
        let mut queue = self.lock();
        while queue.bytes.len() > PATIENT {
            queue = self.wait(queue, LOOK);
        }
    }

    /// Waits until everything is written, at most this long.
    pub(super) fn flush(&self, most: Duration) {
        let begin = Instant::now();
        let mut queue = self.lock();
        while (queue.is_busy || !queue.bytes.is_empty()) && begin.elapsed() < most {
            queue = self.wait(queue, most.saturating_sub(begin.elapsed()));
        }
    }

    fn run(&self) {
        let mut lines = Vec::new();
        loop {
            self.take(&mut lines);
            let unwritten = write(&lines);
            lines.clear();
            lines.shrink_to(PATIENT);
            // The loss can be reported only once a line can be written again.
            let lost = match unwritten {
                0 => mem::take(&mut self.lock().lost),
                count => {
                    self.lock().lose(count);
                    0
                }
            };
            if lost > 0 {
                error!(
                    "{lost} log lines lost: standard error was not read or could not be written"
                );
            }
            self.lock().is_busy = false;
            self.changed.notify_all();
        }
    }

    /// The lines that wait, for an empty buffer.
    fn take(&self, lines: &mut Vec<u8>) {
        let mut queue = self.lock();
        while queue.bytes.is_empty() {
            queue = self
                .changed
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
        mem::swap(&mut queue.bytes, lines);
        queue.is_busy = true;
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>, most: Duration) -> MutexGuard<'a, Queue> {
        let waited = self.changed.wait_timeout(queue, most);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn lose(&mut self, count: u64) {
        self.lost += count;
        LOST.fetch_add(count, Ordering::Relaxed);
    }
}

/// Lines that were not written since this was last asked.
pub(super) fn lost() -> u64 {
    LOST.swap(0, Ordering::Relaxed)
}

/// Writes lines; returns how many could not be written.
fn write(lines: &[u8]) -> u64 {
    let mut rest = lines;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(piece(rest));
        if write_whole(piece).is_err() {
            return rest.iter().filter(|byte| **byte == b'\n').count() as u64;
        }
        rest = behind;
    }
    0
}

/// Bytes of the first lines, as many as a pipe takes in one piece: another process of this service may
/// write to it at the same time.
fn piece(lines: &[u8]) -> usize {
    let end = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n');
    let first = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
    let whole = lines.get(..WHOLE).map_or(Some(lines.len() - 1), end);
    let whole = whole.or_else(|| first(lines));
    whole.map_or(lines.len(), |at| at + 1)
}

fn write_whole(mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match io::stderr().write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(RETRY),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::piece;

    #[test]
    fn a_piece_is_whole_lines_that_a_pipe_takes_at_once_or_one_longer_line() {
        let line = |length: usize| [vec![b'a'; length - 1], vec![b'\n']].concat();
        let pieces = |lines: &[Vec<u8>]| {
            let (bytes, mut at, mut sizes) = (lines.concat(), 0, Vec::new());
            while at < bytes.len() {
                sizes.push(piece(&bytes[at..]));
                at += sizes.last().copied().unwrap_or_default();
            }
            sizes
        };
        assert_eq!(pieces(&[line(10), line(20)]), [30]);
        assert_eq!(pieces(&[line(4_000), line(96), line(1)]), [4_096, 1]);
        assert_eq!(pieces(&[line(4_000), line(97), line(1)]), [4_000, 98]);
        assert_eq!(
            pieces(&[line(9_000), line(5_000), line(9)]),
            [9_000, 5_000, 9]
        );
        assert_eq!(pieces(&[line(7), line(5_000)]), [7, 5_000]);
    }
}

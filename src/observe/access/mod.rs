//! The access log: one JSON line for each call, written by a thread of its own, so that a call never
//! waits for a disk. The content of a line is in `line`; `log.access` turns the log on. Where it is off, a
//! short line of each call goes to the log in the same way, since the reader of standard error may stall.

mod line;
mod sink;

pub use line::AccessLine;

use super::events::{AccessLinesLost, CallEnded, LinesLost};
use super::labels::LogSource;
use super::log_budget::LOG_BUDGET;
use super::metrics::Metrics;
use crate::config::{AccessLogPlace, AccessLogSettings};
use arc_swap::ArcSwapOption;
use log::{Level, info, log_enabled};
use sink::Sink;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Of the log's short lines.
pub(super) const TARGET: &str = "access";
/// About as many bytes as the log adds to a short line: time, level and target.
const FRAME: usize = 80;
/// Lines put together for one write, at most.
const TOGETHER: usize = 64 << 10;
/// How long a stop waits for what is queued.
const FLUSH: Duration = Duration::from_secs(5);
/// How often a writer that ends is polled.
const LOOK: Duration = Duration::from_millis(5);

/// The access log of one process, on or off.
pub struct AccessLog {
    writer: ArcSwapOption<Writer>,
    /// Writers that have lines left, the present one included.
    threads: Mutex<Vec<JoinHandle<()>>>,
    metrics: Arc<Metrics>,
}

/// One place that lines go to, from one reload to the next.
enum Writer {
    Lines {
        lines: SyncSender<Box<AccessLine>>,
        client_address: bool,
    },
    /// To the log.
    Short(SyncSender<String>),
}

/// An access log that can be put in force without failing.
pub struct PreparedLog {
    sink: Option<Sink>,
    settings: AccessLogSettings,
}

impl AccessLog {
    /// One that is off.
    pub fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            writer: ArcSwapOption::empty(),
            threads: Mutex::default(),
            metrics,
        }
    }

    /// Opens the file that the settings name: once more where it is open already, because it may
    /// have been moved away.
    ///
    /// # Errors
    /// When it cannot be opened; the text names it.
    pub fn prepare(settings: &AccessLogSettings) -> io::Result<PreparedLog> {
        let sink = match &settings.to {
            AccessLogPlace::Off => None,
            AccessLogPlace::Stdout => Some(Sink::Stdout),
            AccessLogPlace::File(path) => Some(Sink::open(path)?),
        };
        let settings = settings.clone();
        Ok(PreparedLog { sink, settings })
    }

    /// Switches to the prepared log; earlier lines go to their own place.
    pub fn replace(&self, prepared: PreparedLog) {
        let (queue, client_address) = (prepared.settings.queue, prepared.settings.client_address);
        let writer = match prepared.sink {
            Some(sink) => {
                let (lines, queued) = sync_channel(queue);
                let metrics = self.metrics.clone();
                let runs = self.spawn(move || write(sink, &queued, &metrics));
                runs.then_some(Writer::Lines {
                    lines,
                    client_address,
                })
            }
            None => {
                let (lines, queued) = sync_channel(queue);
                self.spawn(move || say(&queued))
                    .then_some(Writer::Short(lines))
            }
        };
        self.writer.store(writer.map(Arc::new));
        self.threads().retain(|thread| !thread.is_finished());
    }

    /// False where the system has no thread for it.
    fn spawn(&self, run: impl FnOnce() + Send + 'static) -> bool {
        let thread = std::thread::Builder::new().name("access-log".into());
        match thread.spawn(run) {
            Ok(running) => {
                self.threads().push(running);
                true
            }
            Err(error) => {
                log::error!("cannot start the access log's thread: {error}");
                false
            }
        }
    }

    /// Whether calls are written, as more than a short line.
    pub fn is_on(&self) -> bool {
        matches!(self.writer.load().as_deref(), Some(Writer::Lines { .. }))
    }

    /// Queues a line without waiting; if the queue is full, the line is lost and counted. False where the log is off.
    pub fn write(&self, line: impl FnOnce() -> AccessLine) -> bool {
        let writer = self.writer.load();
        let Some(Writer::Lines {
            lines,
            client_address,
        }) = writer.as_deref()
        else {
            return false;
        };
        let mut line = Box::new(line());
        if !client_address {
            line.client = None;
        }
        if let Err(TrySendError::Full(_)) = lines.try_send(line) {
            let reason = LinesLost::Queue;
            AccessLinesLost { reason, count: 1 }.emit(&self.metrics);
        }
        true
    }

    /// The same with a short line for the log, where the access log is off. Lines of calls that no model server
    /// answered, or whose key no backend has accepted, are bounded by `log.bytes_per_second`: anybody can cause
    /// them. A lost line is counted without a log line, which would wait for the same reader.
    pub fn say(&self, call: &CallEnded<'_>) {
        if !log_enabled!(target: TARGET, Level::Info) {
            return;
        }
        let writer = self.writer.load();
        let Some(Writer::Short(lines)) = writer.as_deref() else {
            return;
        };
        let is_limited = !(call.is_answered() && call.is_key_accepted);
        if is_limited && !LOG_BUDGET.try_admit(LogSource::Access, Level::Info) {
            return;
        }
        let line = call.line();
        if is_limited {
            LOG_BUDGET.charge(LogSource::Access, line.len() + FRAME);
        }
        if let Err(TrySendError::Full(_)) = lines.try_send(line) {
            let reason = LinesLost::Queue;
            AccessLinesLost { reason, count: 1 }.count(&self.metrics);
        }
    }

    /// Turns it off and waits until all queued lines are written.
    pub fn close(&self) {
        self.writer.store(None);
        let since = Instant::now();
        let mut threads = std::mem::take(&mut *self.threads());
        while !threads.is_empty() && since.elapsed() < FLUSH {
            std::thread::sleep(LOOK);
            threads.retain(|thread| !thread.is_finished());
        }
    }

    fn threads(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logs lines until the last sender is gone.
fn say(queued: &Receiver<String>) {
    while let Ok(line) = queued.recv() {
        info!(target: TARGET, "{line}");
    }
}

/// Writes lines until the last sender is gone. Queued lines go out in one write.
fn write(mut sink: Sink, queued: &Receiver<Box<AccessLine>>, metrics: &Metrics) {
    let mut bytes = Vec::with_capacity(TOGETHER);
    while let Ok(first) = queued.recv() {
        let mut count = append(&first, &mut bytes);
        while bytes.len() < TOGETHER
            && let Ok(next) = queued.try_recv()
        {
            count += append(&next, &mut bytes);
        }
        if !bytes.is_empty() && sink.write(&bytes).is_err() {
            let reason = LinesLost::Disk;
            AccessLinesLost { reason, count }.emit(metrics);
        }
        bytes.clear();
    }
}

/// Appends a line, unless it exceeds the budget of those that anybody can cause; how many lines that are.
fn append(line: &AccessLine, bytes: &mut Vec<u8>) -> u64 {
    const SOURCE: LogSource = LogSource::AccessLog;
    if line.is_limited && !LOG_BUDGET.try_admit(SOURCE, Level::Info) {
        return 0;
    }
    let before = bytes.len();
    line.append_to(bytes);
    if line.is_limited {
        LOG_BUDGET.charge(SOURCE, bytes.len() - before);
    }
    1
}

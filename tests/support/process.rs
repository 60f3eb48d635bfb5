//! A child process with its output at hand: every line is kept and can be waited for. The child is
//! killed by its own id when the value is dropped.

use super::{PATIENCE, eventually};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at a text that may still grow, and how many there are at most.
const MOMENT: Duration = Duration::from_millis(40);
const SETTLES: usize = 50;

/// Text that grows while a process writes.
#[derive(Default)]
struct Output {
    text: Mutex<String>,
    grown: Condvar,
}

impl Output {
    fn follow(self: &Arc<Self>, source: impl Read + Send + 'static) -> JoinHandle<()> {
        let output = self.clone();
        std::thread::spawn(move || {
            let mut source = BufReader::new(source);
            let mut line = Vec::new();
            while source
                .read_until(b'\n', &mut line)
                .is_ok_and(|count| count > 0)
            {
                output
                    .text
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push_str(&String::from_utf8_lossy(&line));
                output.grown.notify_all();
                line.clear();
            }
        })
    }

    fn now(&self) -> String {
        self.text
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    #[track_caller]
    fn wait<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = find(&text) {
                return found;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "never printed: {what}; printed:\n{text}");
            text = self
                .grown
                .wait_timeout(text, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// A running child.
pub struct Process {
    child: Child,
    stdout: Arc<Output>,
    stderr: Arc<Output>,
    readers: Vec<JoinHandle<()>>,
}

impl Process {
    /// Starts it with both outputs captured.
    pub fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let (stdout, stderr) = (Arc::new(Output::default()), Arc::new(Output::default()));
        let readers = vec![
            stdout.follow(child.stdout.take().unwrap()),
            stderr.follow(child.stderr.take().unwrap()),
        ];
        Self {
            child,
            stdout,
            stderr,
            readers,
        }
    }

    /// What it printed so far.
    pub fn stdout(&self) -> String {
        self.stdout.now()
    }

    /// What it logged so far.
    pub fn stderr(&self) -> String {
        self.stderr.now()
    }

    /// The same once no more has come for a moment: lines are written behind what they are about.
    pub fn settled_stderr(&self) -> String {
        let mut before = usize::MAX;
        let mut text = self.stderr();
        for _ in 0..SETTLES {
            if text.len() == before {
                break;
            }
            before = text.len();
            std::thread::sleep(MOMENT);
            text = self.stderr();
        }
        text
    }

    /// Waits for something on stdout.
    #[track_caller]
    pub fn await_stdout<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        self.stdout.wait(what, find)
    }

    /// Waits for something on stderr.
    #[track_caller]
    pub fn await_stderr<T>(&self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        self.stderr.wait(what, find)
    }

    /// The exit status, if it has ended; then all it wrote has been read.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().unwrap()?;
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        Some(status)
    }

    /// Resident memory now, in bytes.
    pub fn memory(&self) -> u64 {
        self.status_kib("VmRSS:") << 10
    }

    /// The most resident memory there ever was, in bytes.
    pub fn peak_memory(&self) -> u64 {
        self.status_kib("VmHWM:") << 10
    }

    fn status_kib(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.expect("a number of KiB").parse().unwrap()
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("sh")
            .args(["-c", "kill -s \"$0\" \"$1\"", name, &id])
            .status();
        assert!(sent.unwrap().success(), "signal {name}");
    }

    /// Waits for the end; gives the status and how long it took.
    #[track_caller]
    pub fn await_exit(&mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        let status = eventually("the process ends", || self.exited());
        (status, start.elapsed())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

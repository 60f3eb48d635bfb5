//! Tells a person who waits how far a transfer has come: lines on standard error, a few a minute.

use std::time::{Duration, Instant};

/// The shortest time between two lines about one thing.
const INTERVAL: Duration = Duration::from_secs(5);

/// Counts things and tells about them.
pub(crate) struct Progress {
    what: String,
    count: u64,
    /// How many there will be, roughly; 0 if that is not known.
    expected: u64,
    told: Instant,
}

impl Progress {
    pub(crate) fn begin(what: &str, expected: u64) -> Self {
        Self {
            what: what.to_owned(),
            count: 0,
            expected,
            told: Instant::now(),
        }
    }

    /// So many more are done.
    pub(crate) fn add(&mut self, more: u64) {
        self.count += more;
        if self.told.elapsed() >= INTERVAL {
            self.told = Instant::now();
            match self.expected {
                0 => eprintln!("{}: {} so far", self.what, self.count),
                expected => eprintln!("{}: {} of about {expected}", self.what, self.count),
            }
        }
    }

    /// All of them are done.
    pub(crate) fn end(self) {
        if self.count > 0 {
            eprintln!("{}: {}", self.what, self.count);
        }
    }
}

//! One time limit over all steps of a command to a running process.

use anyhow::Error;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// When a command gives up.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    until: Instant,
    limit: Duration,
}

impl Deadline {
    /// So long from now.
    pub fn within(limit: Duration) -> Self {
        Self {
            until: Instant::now() + limit,
            limit,
        }
    }

    /// The whole time.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// The time left, which is not zero.
    ///
    /// # Errors
    /// A timeout when nothing is left.
    pub(crate) fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(self.passed()),
            false => Ok(left),
        }
    }

    /// The error of a step that used up the time.
    pub(crate) fn passed(&self) -> io::Error {
        let text = format!("no answer within {:?}", self.limit);
        io::Error::new(ErrorKind::TimedOut, text)
    }
}

/// Whether a step used up its time; a socket reports that as `WouldBlock`.
pub(crate) fn is_timeout(error: &Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock))
}

//! Log lines about what was lost: one in ten seconds for each kind, and none without its sum. What is lost within
//! that time is in the next line, which comes when the time is over, whether or not anything else is lost then.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines of one kind.
const PERIOD: Duration = Duration::from_secs(10);

/// One kind of loss.
#[derive(Debug)]
pub(super) struct LossLine(Mutex<Pending>);

#[derive(Debug)]
struct Pending {
    sum: LossSum,
    next: Option<Instant>,
}

/// What a line stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LossSum {
    /// Records or bytes.
    pub(super) amount: u64,
    /// How often something was lost.
    pub(super) times: u64,
    /// The file of the latest loss; empty if there is none.
    pub(super) file: PathBuf,
}

impl LossSum {
    const NOTHING: Self = Self {
        amount: 0,
        times: 0,
        file: PathBuf::new(),
    };
}

impl LossLine {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(Pending {
            sum: LossSum::NOTHING,
            next: None,
        }))
    }

    /// Adds a loss. Gives the sum if it is time for a line.
    pub(super) fn add(&self, amount: u64, file: &Path, now: Instant) -> Option<LossSum> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.sum.amount += amount;
        pending.sum.times += 1;
        file.clone_into(&mut pending.sum.file);
        pending.take(now)
    }

    /// Gives the sum of what is in no line yet, if it is time for one.
    pub(super) fn due(&self, now: Instant) -> Option<LossSum> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.take(now)
    }

    /// Gives the sum of what is in no line yet, at once.
    pub(super) fn rest(&self, now: Instant) -> Option<LossSum> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.next = None;
        pending.take(now)
    }
}

impl Pending {
    fn take(&mut self, now: Instant) -> Option<LossSum> {
        if self.sum.times == 0 || self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.next = Some(now + PERIOD);
        Some(std::mem::replace(&mut self.sum, LossSum::NOTHING))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(amount: u64, times: u64, file: &str) -> Option<LossSum> {
        Some(LossSum {
            amount,
            times,
            file: file.into(),
        })
    }

    #[test]
    fn what_is_lost_between_two_lines_is_in_the_next_one() {
        let (line, start) = (LossLine::new(), Instant::now());
        assert_eq!(line.due(start), None);
        assert_eq!(line.add(3, Path::new("a"), start), sum(3, 1, "a"));
        assert_eq!(line.add(4, Path::new("b"), start), None);
        assert_eq!(line.add(5, Path::new("c"), start), None);
        assert_eq!(line.due(start), None);
        assert_eq!(line.due(start + PERIOD), sum(9, 2, "c"));
        assert_eq!(line.due(start + 2 * PERIOD), None, "nothing more was lost");
        assert_eq!(
            line.add(1, Path::new("d"), start + 2 * PERIOD),
            sum(1, 1, "d")
        );
        assert_eq!(line.add(2, Path::new("e"), start + 2 * PERIOD), None);
        assert_eq!(line.rest(start + 2 * PERIOD), sum(2, 1, "e"));
    }
}

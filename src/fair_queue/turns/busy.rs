//! Whether a thread comes right from work on another message: more may be ready then, in the order in which they came
//! and whoever they are for.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A thread that ended its work less than this ago has hardly waited since.
const PAUSE: Duration = Duration::from_millis(1);

thread_local! {
    static ENDED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// This thread ends work on a message.
pub(super) fn note_work() {
    ENDED.set(Some(Instant::now()));
}

/// Whether this thread has just ended work on another message.
pub(super) fn is_thread_busy() -> bool {
    ENDED.get().is_some_and(|ended| ended.elapsed() < PAUSE)
}

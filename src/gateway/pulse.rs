//! Whether a runtime still does what it is given: a short task that has to come to its end. Who asks, and
//! what follows, is for the process to say.

use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Of one runtime, once it has said which.
#[derive(Default)]
pub struct Pulse(OnceLock<Handle>);

impl Pulse {
    /// It is that of the runtime this is called on.
    pub(super) fn begins(&self) {
        // A service starts once.
        let _ = self.0.set(Handle::current());
    }

    /// Whether a task ends within `limit`; blocks until then. Where no runtime has begun there is none to
    /// be lost.
    pub fn beats(&self, limit: Duration) -> bool {
        let Some(runtime) = self.0.get() else {
            return true;
        };
        let (said, heard) = mpsc::channel();
        runtime.spawn(async move {
            // Nobody listens to one that comes too late.
            let _ = said.send(());
        });
        heard.recv_timeout(limit).is_ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_runtime_whose_threads_are_held_has_no_pulse_until_they_are_let_go() {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).build().unwrap();
        let pulse = Pulse::default();
        let soon = Duration::from_millis(100);
        assert!(pulse.beats(soon), "before it begins");
        runtime.block_on(async { pulse.begins() });
        assert!(pulse.beats(Duration::from_secs(10)));
        let (held, holds) = mpsc::channel();
        let (let_go, wait) = mpsc::channel::<()>();
        runtime.spawn(async move {
            held.send(()).unwrap();
            let _ = wait.recv();
        });
        holds.recv().unwrap();
        assert!(!pulse.beats(soon));
        drop(let_go);
        assert!(pulse.beats(Duration::from_secs(10)));
    }
}

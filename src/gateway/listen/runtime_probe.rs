//! Checks that a tokio runtime still runs its tasks, by spawning a short one and waiting for its end. The
//! process decides who asks and what follows from a runtime that does not respond.

use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Probes one runtime, once a service has attached it.
#[derive(Default)]
pub struct RuntimeProbe(OnceLock<Handle>);

impl RuntimeProbe {
    /// Probes the runtime that this is called on from now on.
    pub(super) fn attach(&self) {
        // A service starts once, so a second handle would be of the same runtime.
        let _ = self.0.set(Handle::current());
    }

    /// Whether a new task ends within `limit`; blocks the caller until then. Without an attached runtime the
    /// answer is true.
    pub fn responds_within(&self, limit: Duration) -> bool {
        let Some(runtime) = self.0.get() else {
            return true;
        };
        let (sender, receiver) = mpsc::channel();
        runtime.spawn(async move {
            // The receiver is gone when the task runs after the limit.
            let _ = sender.send(());
        });
        receiver.recv_timeout(limit).is_ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_runtime_whose_threads_are_blocked_does_not_respond_until_they_are_released() {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).build().unwrap();
        let probe = RuntimeProbe::default();
        let soon = Duration::from_millis(100);
        assert!(probe.responds_within(soon), "before a runtime is attached");
        runtime.block_on(async { probe.attach() });
        assert!(probe.responds_within(Duration::from_secs(10)));
        let (blocked, is_blocked) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        runtime.spawn(async move {
            blocked.send(()).unwrap();
            let _ = released.recv();
        });
        is_blocked.recv().unwrap();
        assert!(!probe.responds_within(soon));
        drop(release);
        assert!(probe.responds_within(Duration::from_secs(10)));
    }
}

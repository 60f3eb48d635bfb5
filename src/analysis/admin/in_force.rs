//! How far the gateway of the same process has come with the policies of the store.

use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::watch;

/// How long the answer to a change waits for the gateway.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The changes of policies that are in force in the gateway of this process, if there is one: the store's count, None
/// before the first read.
#[derive(Default)]
pub(crate) struct InForce(OnceLock<watch::Receiver<Option<i64>>>);

impl InForce {
    /// For the gateway of this process, which is one.
    pub(super) fn report(&self) -> watch::Sender<Option<i64>> {
        let (sender, receiver) = watch::channel(None);
        let _ = self.0.set(receiver);
        sender
    }

    /// Waits until the changes that `count` gives are in force. Should the gateway's reads fail, it gets them later, and
    /// nobody waits for that.
    pub(super) async fn reach(&self, count: impl Future<Output = Option<i64>>) {
        let Some(mut in_force) = self.0.get().cloned() else {
            return;
        };
        let reached = async {
            let count = count.await?;
            let reached = in_force.wait_for(|seen| *seen >= Some(count)).await;
            reached.map(drop).ok()
        };
        let _ = tokio::time::timeout(LONGEST_WAIT, reached).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_change_waits_for_the_gateway_and_not_for_ever() {
        let in_force = InForce::default();
        in_force.reach(async { Some(1) }).await;
        let begun = Instant::now();
        let gateway = in_force.report();
        gateway.send_replace(Some(1));
        in_force.reach(async { Some(1) }).await;
        in_force.reach(async { None }).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        in_force.reach(async { Some(2) }).await;
        let waited = begun.elapsed();
        assert!(waited >= LONGEST_WAIT, "{waited:?}");
        drop(gateway);
        in_force.reach(async { Some(2) }).await;
        assert_eq!(begun.elapsed(), waited);
    }
}

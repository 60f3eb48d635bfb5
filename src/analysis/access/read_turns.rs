//! Turns for reads of the store (CONTRACT 38): pages of records, sessions, statistics and settings. The readers of one
//! tenant never have all connections, so those of another wait for a turn at most. What a call or a check looks up
//! (tokens, applications, policies) takes no turn: the store has two connections of its own for that. Clients ask over
//! them for a single key or a stored verdict, one at a time, and wait for no long read.

use super::caller::Caller;
use crate::analysis::error::ApiError;
use crate::fair_queue::{Claim, NoTurn, QUANTUM, Turn, TurnFigures, TurnLimits, Turns, Urgency};
use crate::observe::TurnRefusal;
use monitor_store::StoreError;
use std::sync::Arc;
use std::time::Duration;

/// Reads take turns by number: how long one takes does not show before it.
const COST: u64 = QUANTUM;
/// Reads that wait, and how many of them one tenant may have (a quarter).
const WAITING: u64 = 1024;
const PARTS: u64 = 4;
/// Look-ups by a key at the same time; the store's other connection is left to those of calls and checks.
const LOOK_UPS: usize = 1;
/// Sums over many records at the same time; one tenant has one of them.
const SUMS: usize = 4;

/// Turns for reads of the store.
pub(crate) struct ReadTurns {
    pages: Arc<Turns>,
    look_ups: Arc<Turns>,
    sums: Arc<Turns>,
}

impl ReadTurns {
    /// For a store with so many connections, one of which is left to changes of settings.
    pub(crate) fn new(connections: u64, longest_wait: Duration) -> Self {
        let places = usize::try_from(connections).unwrap_or(usize::MAX).max(2) - 1;
        let limits = |places, reserved| TurnLimits {
            places,
            reserved,
            short: COST,
            waiting_cost: WAITING * COST,
            parts: PARTS,
            longest_wait,
        };
        Self {
            pages: Turns::new(limits(places, places.div_ceil(3))),
            look_ups: Turns::new(limits(LOOK_UPS, 0)),
            sums: Turns::new(limits(SUMS, SUMS - 1)),
        }
    }

    /// Reads once it is the caller's turn.
    ///
    /// # Errors
    /// [`ApiError::ReadsBusy`] where too many wait, or the turn did not come in time; [`ApiError`] of the store.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        caller: &Caller,
        read: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        in_turn(&self.pages, caller, read).await
    }

    /// Reads one row by its key, over the connections of the look-ups.
    ///
    /// # Errors
    /// Those of [`ReadTurns::read`].
    pub(crate) async fn look_up<T: Send + 'static>(
        &self,
        caller: &Caller,
        read: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, ApiError> {
        in_turn(&self.look_ups, caller, read).await
    }

    /// A turn for a sum over many pages, until it is dropped; each page takes a turn of its own.
    ///
    /// # Errors
    /// [`ApiError::ReadsBusy`] where too many wait, or the turn did not come in time.
    pub(crate) async fn take_sum(&self, caller: &Caller) -> Result<Turn, ApiError> {
        take(&self.sums, caller).await
    }

    /// The reads that are under way, and those that wait for their turn.
    pub(crate) fn figures(&self) -> TurnFigures {
        self.pages.figures()
    }
}

/// The read goes on when the request is dropped, and its turn counts as long: the database finishes it all the same.
async fn in_turn<T: Send + 'static>(
    turns: &Arc<Turns>,
    caller: &Caller,
    read: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, ApiError> {
    let turn = take(turns, caller).await?;
    let reading = tokio::spawn(async move {
        let found = read.await;
        drop(turn);
        found
    });
    let found = reading.await.map_err(|_| ApiError::Internal)?;
    Ok(found?)
}

async fn take(turns: &Arc<Turns>, caller: &Caller) -> Result<Turn, ApiError> {
    let claim = Claim {
        tenant: caller.reads(),
        urgency: Urgency::Awaited,
    };
    let turn = turns.take(claim, COST).await;
    turn.map_err(|refusal| {
        ApiError::ReadsBusy(match refusal {
            NoTurn::Full => TurnRefusal::Full,
            NoTurn::Late => TurnRefusal::Late,
        })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::analysis::access::token_cache::new_token;
    use futures_util::FutureExt as _;
    use monitor_model::ApplicationId;
    use monitor_store::{Scope, Scopes};
    use tokio::sync::oneshot::{Sender, channel};
    use tokio::task::JoinHandle;

    fn caller(application: ApplicationId) -> Caller {
        let token = new_token("t", Scopes::of(&[Scope::Read]), Some(application));
        Caller::from(&token)
    }

    /// Begins a read that ends with the sender.
    fn begin(turns: &Arc<ReadTurns>, caller: &Caller) -> (Sender<()>, JoinHandle<bool>) {
        let (end, ended) = channel::<()>();
        let (turns, caller) = (turns.clone(), caller.clone());
        let reading = tokio::spawn(async move {
            let read = async move {
                let _ = ended.await;
                Ok(())
            };
            turns.read(&caller, read).await.is_ok()
        });
        (end, reading)
    }

    async fn under_way(turns: &ReadTurns, running: usize, waiting: usize) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let figures = turns.figures();
        assert_eq!((figures.running, figures.waiting), (running, waiting));
    }

    #[tokio::test]
    async fn the_reads_of_one_tenant_leave_a_connection_to_another_and_one_to_settings() {
        let turns = Arc::new(ReadTurns::new(4, Duration::from_secs(10)));
        let own = ApplicationId::random();
        let (one, two) = (caller(own), caller(own));
        let held = [begin(&turns, &one), begin(&turns, &two)];
        under_way(&turns, 2, 0).await;
        let waiting = begin(&turns, &two);
        under_way(&turns, 2, 1).await;
        let third = begin(&turns, &caller(ApplicationId::random()));
        under_way(&turns, 3, 1).await;
        let fourth = begin(&turns, &caller(ApplicationId::random()));
        under_way(&turns, 3, 2).await;
        drop(third.0);
        assert!(third.1.await.unwrap());
        under_way(&turns, 3, 1).await;
        drop((held, waiting, fourth));
        under_way(&turns, 0, 0).await;
    }

    #[tokio::test]
    async fn a_read_whose_request_is_dropped_keeps_its_turn_until_it_ends() {
        let turns = Arc::new(ReadTurns::new(4, Duration::from_secs(10)));
        let own = caller(ApplicationId::random());
        let left: Vec<_> = (0..8).map(|_| begin(&turns, &own)).collect();
        under_way(&turns, 2, 6).await;
        left.iter().for_each(|(_, request)| request.abort());
        under_way(&turns, 2, 0).await;
        drop(left);
        under_way(&turns, 0, 0).await;
    }

    #[tokio::test]
    async fn one_tenant_has_one_sum_at_a_time() {
        let turns = ReadTurns::new(4, Duration::from_secs(10));
        let own = ApplicationId::random();
        let held = turns.take_sum(&caller(own)).await.unwrap();
        assert!(turns.take_sum(&caller(own)).now_or_never().is_none());
        let other = caller(ApplicationId::random());
        assert!(turns.take_sum(&other).now_or_never().unwrap().is_ok());
        drop(held);
        assert!(turns.take_sum(&caller(own)).now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_waits_for_too_long_is_refused() {
        let turns = Arc::new(ReadTurns::new(2, Duration::from_secs(10)));
        let own = caller(ApplicationId::random());
        let held = begin(&turns, &own);
        under_way(&turns, 1, 0).await;
        let refused = turns.read(&own, async { Ok(()) }).await.err();
        assert_eq!(refused, Some(ApiError::ReadsBusy(TurnRefusal::Late)));
        drop(held);
    }
}

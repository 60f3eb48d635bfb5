//! Places for jobs, given out in fair turns. A job waits for its place in a [`FairQueue`], for a time that
//! grows with its cost and has an end.
//!
//! - Jobs that somebody awaits go before those that nobody awaits; these get at least every fifth turn.
//! - The reserved places are for awaited short jobs: however many long ones or deferred ones there are, a short
//!   check waits for other short checks only.
//! - While places are reserved, no access key takes all of them with its short jobs, and none queues more than
//!   its part of the bound. Its own long jobs hold up none of its short ones.
//! - Short jobs take their place without a lock ([`QuickPlaces`]) until a job finds none, and again once nothing
//!   runs or waits under the lock.
//! - Short jobs that are ready at the same time run in the order of the queue and not in that of the runtime: one that
//!   comes right after other work on its thread lets all that are ready queue before the next place is given out.

mod busy;
mod limits;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use limits::TurnLimits;

use super::claim::{Claim, Urgency};
use super::fair_order::{JobClass, Ticket};
use super::quick_places::QuickPlaces;
use state::{State, View};
use std::collections::HashSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::timeout;

/// A job that waits for a place.
type Waiter = state::Waiter<oneshot::Sender<Turn>>;

type WaitingState = State<oneshot::Sender<Turn>>;

/// Why a job gets no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum NoTurn {
    /// Too much waits already, of this access key or of all.
    #[error("too much waits already")]
    Full,
    /// Its turn did not come in time.
    #[error("its turn did not come in time")]
    Late,
}

/// What runs and waits at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnFigures {
    pub(crate) places: usize,
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    /// The cost of what waits.
    pub(crate) waiting_cost: u64,
    /// Access keys that run or wait.
    pub(crate) holders: usize,
}

/// The places, and who waits for one.
pub(crate) struct Turns {
    limits: TurnLimits,
    quick: QuickPlaces,
    state: Mutex<WaitingState>,
}

/// A place, taken until it is dropped.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    place: Place,
}

enum Place {
    Quick(u32),
    Counted { holder: u64, class: JobClass },
}

/// A quick place of a call that does not outlive its turns.
struct QuickTurn<'a> {
    turns: &'a Arc<Turns>,
    place: u32,
}

/// What short work has while it is done.
enum Held<'a> {
    Quick {
        _place: QuickTurn<'a>,
    },
    Queued(Turn),
    /// Its turn did not come in time.
    Nothing,
}

/// A job in the queue, which leaves it when this is dropped.
struct Waiting {
    turns: Arc<Turns>,
    ticket: Ticket,
    urgency: Urgency,
    granted: oneshot::Receiver<Turn>,
    has_left: bool,
}

impl Turns {
    pub(crate) fn new(limits: TurnLimits) -> Arc<Self> {
        Arc::new(Self {
            quick: QuickPlaces::new(limits.common()),
            limits,
            state: Mutex::default(),
        })
    }

    /// Waits for a place, for as long as a job of this cost may.
    ///
    /// # Errors
    /// [`NoTurn`] at once where too much waits already, or when the time is over.
    pub(crate) async fn take(self: &Arc<Self>, claim: Claim, cost: u64) -> Result<Turn, NoTurn> {
        if let Some(turn) = self.try_take(claim, cost) {
            return Ok(turn);
        }
        let waiting = self.queue(claim, cost);
        self.wait(waiting, claim, cost).await
    }

    /// As [`Turns::take`], after all calls that are ready have had a chance to queue.
    async fn take_among_ready(self: &Arc<Self>, claim: Claim, cost: u64) -> Result<Turn, NoTurn> {
        let waiting = self.queue(claim, cost);
        yield_now().await;
        self.wait(waiting, claim, cost).await
    }

    /// Waits for the turn of a job that is queued, for as long as a job of this cost may.
    async fn wait(&self, mut waiting: Waiting, claim: Claim, cost: u64) -> Result<Turn, NoTurn> {
        let is_over = waiting.turns.start(claim.tenant.holder);
        if let Ok(turn) = waiting.granted.try_recv() {
            waiting.has_left = true;
            return Ok(turn);
        }
        if is_over {
            return Err(NoTurn::Full);
        }
        let patience = self.limits.patience(claim.urgency, cost);
        match timeout(patience, &mut waiting.granted).await {
            Ok(Ok(turn)) => {
                waiting.has_left = true;
                Ok(turn)
            }
            _ => Err(NoTurn::Late),
        }
    }

    /// A place, if there is one at once.
    pub(crate) fn try_take(self: &Arc<Self>, claim: Claim, cost: u64) -> Option<Turn> {
        let place = match self.take_quick(claim, cost) {
            Some(place) => Place::Quick(place),
            None => self.take_unqueued(claim, cost)?,
        };
        let turns = self.clone();
        Some(Turn { turns, place })
    }

    /// Runs a future once it is its turn, and keeps the place until the future has to wait for the first time:
    /// for as long as it needs a processor. If the turn does not come in time, the future runs all the same.
    pub(crate) async fn until_first_wait<T>(
        self: &Arc<Self>,
        claim: Claim,
        cost: u64,
        mut future: Pin<&mut impl Future<Output = T>>,
    ) -> T {
        let mut quick = self
            .take_quick(claim, cost)
            .map(|place| QuickTurn { turns: self, place });
        let mut turn = match quick {
            Some(_) => None,
            None => Box::pin(self.take(claim, cost)).await.ok(),
        };
        poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            drop(quick.take());
            drop(turn.take());
            polled
        })
        .await
    }

    /// Does short work on this thread once it is its turn; if the turn does not come in time, all the same.
    pub(crate) async fn run_here<T>(
        self: &Arc<Self>,
        claim: Claim,
        cost: u64,
        work: impl FnOnce() -> T,
    ) -> T {
        let held = self.hold(claim, cost).await;
        let done = work();
        busy::note_work();
        if let Held::Queued(turn) = held {
            tokio::spawn(return_after_ready(turn));
        }
        done
    }

    async fn hold(self: &Arc<Self>, claim: Claim, cost: u64) -> Held<'_> {
        let is_busy = busy::is_thread_busy();
        let quick = (!is_busy).then(|| self.take_quick(claim, cost)).flatten();
        if let Some(place) = quick {
            let _place = QuickTurn { turns: self, place };
            return Held::Quick { _place };
        }
        let turn = match is_busy {
            true => Box::pin(self.take_among_ready(claim, cost)).await,
            false => Box::pin(self.take(claim, cost)).await,
        };
        turn.map_or(Held::Nothing, Held::Queued)
    }

    fn take_quick(&self, claim: Claim, cost: u64) -> Option<u32> {
        match self.limits.class(claim.urgency, cost) {
            JobClass::Short => self.quick.take(claim.tenant.holder),
            JobClass::Long => None,
        }
    }

    /// A place under the lock, while nobody waits for one.
    fn take_unqueued(&self, claim: Claim, cost: u64) -> Option<Place> {
        let class = self.limits.class(claim.urgency, cost);
        let holder = claim.tenant.holder;
        let mut state = self.lock();
        self.quick.close();
        let view = self.view();
        let may_start = match view.open_classes(&state) {
            Some(open) if class == JobClass::Long => open.long,
            Some(_) => !view.is_held_back(&state.holders, holder),
            None => false,
        };
        let takes = may_start && state.waiting() == 0;
        if takes {
            state.note_started(holder, class);
        }
        self.open_if_idle(&state);
        takes.then_some(Place::Counted { holder, class })
    }

    /// What runs and waits now.
    pub(crate) fn figures(&self) -> TurnFigures {
        let state = self.lock();
        let quick: HashSet<u64> = self.quick.holders().flatten().collect();
        let quick = quick.iter().filter(|it| !state.holders.contains_key(it));
        TurnFigures {
            places: self.limits.places,
            running: state.running + self.quick.running(),
            waiting: state.waiting(),
            waiting_cost: state.waiting_cost,
            holders: state.holders.len() + quick.count(),
        }
    }

    /// Queues a job, and starts nothing.
    fn queue(self: &Arc<Self>, claim: Claim, cost: u64) -> Waiting {
        let (sender, granted) = oneshot::channel();
        let mut state = self.lock();
        self.quick.close();
        let ticket = state.push(Waiter {
            claim,
            cost,
            class: self.limits.class(claim.urgency, cost),
            granted: sender,
        });
        Waiting {
            turns: self.clone(),
            ticket,
            urgency: claim.urgency,
            granted,
            has_left: false,
        }
    }

    /// Starts what has a place. Whether this holder has more waiting then than it may.
    fn start(self: &Arc<Self>, holder: u64) -> bool {
        let mut state = self.lock();
        let started = state.start(self.view());
        let is_over = state.is_over(&self.limits, holder);
        drop(state);
        self.grant(started);
        is_over
    }

    /// Hands places over that are counted as taken. A waiter that has left gives its place back.
    fn grant(self: &Arc<Self>, started: Vec<Waiter>) {
        for waiter in started {
            let turn = Turn {
                turns: self.clone(),
                place: Place::Counted {
                    holder: waiter.claim.tenant.holder,
                    class: waiter.class,
                },
            };
            drop(waiter.granted.send(turn));
        }
    }

    fn return_quick(self: &Arc<Self>, place: u32) {
        if self.quick.give_back(place) {
            self.change(|_| ());
        }
    }

    /// Changes what is taken or waits, and starts what has a place then.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut WaitingState)) {
        let mut state = self.lock();
        change(&mut state);
        let started = state.start(self.view());
        self.open_if_idle(&state);
        drop(state);
        self.grant(started);
    }

    /// Under the lock.
    fn open_if_idle(&self, state: &WaitingState) {
        if state.running == 0 && state.waiting() == 0 {
            self.quick.open();
        }
    }

    fn view(&self) -> View<'_> {
        View {
            limits: &self.limits,
            quick: &self.quick,
        }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a place after whatever is ready by now has had a chance to queue: the runtime looks for what has come over
/// the network when its threads have nothing else to do, and a place that is given on at once gives them something.
async fn return_after_ready(turn: Turn) {
    yield_now().await;
    drop(turn);
}

impl Turn {
    /// Whether the job is short and awaited.
    pub(crate) fn is_short(&self) -> bool {
        match self.place {
            Place::Quick(_) => true,
            Place::Counted { class, .. } => class == JobClass::Short,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        let (urgency, ticket) = (self.urgency, self.ticket);
        self.turns.change(|state| {
            if let Some(waiter) = state.queue(urgency).remove(ticket) {
                state.leave_queue(&waiter);
            }
        });
    }
}

impl Drop for QuickTurn<'_> {
    fn drop(&mut self) {
        self.turns.return_quick(self.place);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        match self.place {
            Place::Quick(place) => self.turns.return_quick(place),
            Place::Counted { holder, class } => {
                self.turns.change(|state| state.note_ended(holder, class));
            }
        }
    }
}

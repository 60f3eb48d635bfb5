//! Places for jobs, given out in fair turns. A job waits for its place in a [`FairQueue`], for a time that
//! grows with its cost and has an end.
//!
//! - Jobs that somebody awaits go before those that nobody awaits; these get at least every fifth turn.
//! - The kept places are for awaited short jobs: however many long ones or deferred ones there are, a short
//!   check waits for other short checks only.
//! - While places are kept, no access key has all of them; none has more than its part of what may wait.

mod limits;
#[cfg(test)]
mod tests;

pub(crate) use limits::TurnLimits;

use super::claim::{Claim, Urgency};
use super::round_robin::FairQueue;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Awaited jobs in a row while deferred ones wait.
const MOST_AWAITED_IN_A_ROW: u32 = 4;

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
    state: Mutex<State>,
}

/// A place, taken until it is dropped.
pub(crate) struct Turn {
    turns: Arc<Turns>,
    holder: u64,
    is_short: bool,
}

#[derive(Default)]
struct State {
    running: usize,
    /// Running jobs that may not take a kept place.
    unkept: usize,
    holders: HashMap<u64, Holder>,
    awaited: FairQueue<Waiter>,
    deferred: FairQueue<Waiter>,
    awaited_in_a_row: u32,
    waiting_cost: u64,
    last_ticket: u64,
}

/// What one access key has.
#[derive(Default)]
struct Holder {
    running: usize,
    waiting: usize,
    waiting_cost: u64,
}

struct Waiter {
    ticket: u64,
    claim: Claim,
    cost: u64,
    is_short: bool,
    granted: oneshot::Sender<Turn>,
}

/// A job in the queue, which leaves it when this is dropped.
struct Waiting {
    turns: Arc<Turns>,
    ticket: u64,
    urgency: Urgency,
    granted: oneshot::Receiver<Turn>,
}

impl Turns {
    pub(crate) fn new(limits: TurnLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            state: Mutex::default(),
        })
    }

    /// Waits for a place, for as long as a job of this cost may.
    ///
    /// # Errors
    /// [`NoTurn`] at once where too much waits already, or when the time is over.
    pub(crate) async fn take(self: &Arc<Self>, claim: Claim, cost: u64) -> Result<Turn, NoTurn> {
        if let Some(turn) = self.take_unqueued(claim, cost) {
            return Ok(turn);
        }
        let mut waiting = self.enter(claim, cost)?;
        let patience = self.limits.patience(claim.urgency, cost);
        match timeout(patience, &mut waiting.granted).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(NoTurn::Late),
        }
    }

    /// A place, if there is one at once.
    pub(crate) fn try_take(self: &Arc<Self>, claim: Claim, cost: u64) -> Option<Turn> {
        self.take_unqueued(claim, cost).or_else(|| {
            let mut waiting = self.enter(claim, cost).ok()?;
            waiting.granted.try_recv().ok()
        })
    }

    /// A place while nobody waits for one.
    fn take_unqueued(self: &Arc<Self>, claim: Claim, cost: u64) -> Option<Turn> {
        let is_short = self.limits.is_short(claim.urgency, cost);
        let holder = claim.tenant.holder;
        let mut state = self.lock();
        let waiting = state.awaited.len() + state.deferred.len();
        let may_start = state.running < self.limits.places
            && may_start(
                &state.holders,
                holder,
                is_short || state.unkept < self.limits.common(),
                &self.limits,
            );
        if waiting > 0 || !may_start {
            return None;
        }
        state.note_started(holder, is_short);
        Some(Turn {
            turns: self.clone(),
            holder,
            is_short,
        })
    }

    /// What runs and waits now.
    pub(crate) fn figures(&self) -> TurnFigures {
        let state = self.lock();
        TurnFigures {
            places: self.limits.places,
            running: state.running,
            waiting: state.awaited.len() + state.deferred.len(),
            waiting_cost: state.waiting_cost,
            holders: state.holders.len(),
        }
    }

    /// Queues a job, which may have its place at once.
    fn enter(self: &Arc<Self>, claim: Claim, cost: u64) -> Result<Waiting, NoTurn> {
        let (sender, granted) = oneshot::channel();
        let mut state = self.lock();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.push(Waiter {
            ticket,
            claim,
            cost,
            is_short: self.limits.is_short(claim.urgency, cost),
            granted: sender,
        });
        let started = state.start(&self.limits);
        let is_waiting = started.iter().all(|waiter| waiter.ticket != ticket);
        let is_full = is_waiting && state.is_over(&self.limits, claim.tenant.holder);
        drop(state);
        self.grant(started);
        let waiting = Waiting {
            turns: self.clone(),
            ticket,
            urgency: claim.urgency,
            granted,
        };
        match is_full {
            true => Err(NoTurn::Full),
            false => Ok(waiting),
        }
    }

    /// Hands places over that are counted as taken. A waiter that has left gives its place back.
    fn grant(self: &Arc<Self>, started: Vec<Waiter>) {
        for waiter in started {
            let turn = Turn {
                turns: self.clone(),
                holder: waiter.claim.tenant.holder,
                is_short: waiter.is_short,
            };
            drop(waiter.granted.send(turn));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn queue(&mut self, urgency: Urgency) -> &mut FairQueue<Waiter> {
        match urgency {
            Urgency::Awaited => &mut self.awaited,
            Urgency::Deferred => &mut self.deferred,
        }
    }

    fn push(&mut self, waiter: Waiter) {
        let (claim, cost) = (waiter.claim, waiter.cost);
        let holder = self.holders.entry(claim.tenant.holder).or_default();
        holder.waiting += 1;
        holder.waiting_cost = holder.waiting_cost.saturating_add(cost);
        self.waiting_cost = self.waiting_cost.saturating_add(cost);
        self.queue(claim.urgency).push(claim.tenant, cost, waiter);
    }

    /// Whether more waits than may. When all together are over the bound, those are refused that have more than
    /// an equal part of it; one job of an access key may wait until twice as much does.
    fn is_over(&self, limits: &TurnLimits, holder: u64) -> bool {
        let Some(own) = self.holders.get(&holder) else {
            return false;
        };
        let most = limits.waiting_cost;
        if own.waiting == 1 {
            let jobs = self.awaited.len() + self.deferred.len();
            return most == 0 || jobs > 1 && self.waiting_cost > most.saturating_mul(2);
        }
        let part = most / self.holders.len().max(1) as u64;
        own.waiting_cost > most / limits.parts
            || self.waiting_cost > most && own.waiting_cost > part
            || self.waiting_cost > most.saturating_mul(2)
    }

    /// Starts what has a place, and returns it.
    fn start(&mut self, limits: &TurnLimits) -> Vec<Waiter> {
        std::iter::from_fn(|| self.start_one(limits)).collect()
    }

    fn start_one(&mut self, limits: &TurnLimits) -> Option<Waiter> {
        if self.running >= limits.places {
            return None;
        }
        let order = match self.awaited_in_a_row < MOST_AWAITED_IN_A_ROW {
            true => [Urgency::Awaited, Urgency::Deferred],
            false => [Urgency::Deferred, Urgency::Awaited],
        };
        let [first, second] = order;
        let waiter = self.next(first, limits);
        let waiter = waiter.or_else(|| self.next(second, limits))?;
        self.awaited_in_a_row = match waiter.claim.urgency {
            Urgency::Awaited => self.awaited_in_a_row.saturating_add(1),
            Urgency::Deferred => 0,
        };
        self.leave_queue(&waiter);
        self.note_started(waiter.claim.tenant.holder, waiter.is_short);
        Some(waiter)
    }

    fn note_started(&mut self, holder: u64, is_short: bool) {
        self.running += 1;
        self.unkept += usize::from(!is_short);
        self.holders.entry(holder).or_default().running += 1;
    }

    fn next(&mut self, urgency: Urgency, limits: &TurnLimits) -> Option<Waiter> {
        let Self {
            holders,
            unkept,
            awaited,
            deferred,
            ..
        } = self;
        let queue = match urgency {
            Urgency::Awaited => awaited,
            Urgency::Deferred => deferred,
        };
        let has_common = *unkept < limits.common();
        queue.next(|waiter| {
            let holder = waiter.claim.tenant.holder;
            may_start(holders, holder, waiter.is_short || has_common, limits)
        })
    }

    fn leave_queue(&mut self, waiter: &Waiter) {
        self.waiting_cost = self.waiting_cost.saturating_sub(waiter.cost);
        let holder = waiter.claim.tenant.holder;
        if let Some(own) = self.holders.get_mut(&holder) {
            own.waiting -= 1;
            own.waiting_cost = own.waiting_cost.saturating_sub(waiter.cost);
        }
        self.forget_idle(holder);
    }

    fn forget_idle(&mut self, holder: u64) {
        let own = self.holders.get(&holder);
        if own.is_some_and(|own| own.running == 0 && own.waiting == 0) {
            self.holders.remove(&holder);
        }
    }
}

/// Whether a job may have a place that is free, if there is one for its kind.
fn may_start(
    holders: &HashMap<u64, Holder>,
    holder: u64,
    has_place: bool,
    limits: &TurnLimits,
) -> bool {
    let own = holders.get(&holder);
    has_place && own.is_none_or(|own| own.running < limits.common())
}

impl Turn {
    /// Whether the job is short and awaited.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }

    /// Keeps the place until the future has to wait for the first time: for as long as it needs a processor.
    pub(crate) async fn until_first_wait<T>(
        mut turn: Option<Self>,
        mut future: Pin<&mut impl Future<Output = T>>,
    ) -> T {
        poll_fn(|context| {
            let polled = future.as_mut().poll(context);
            drop(turn.take());
            polled
        })
        .await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        let ticket = self.ticket;
        let left = state
            .queue(self.urgency)
            .remove(|waiter| waiter.ticket == ticket);
        if let Some(waiter) = left {
            state.leave_queue(&waiter);
        }
        // Its place in the line may have held back those behind it.
        let started = state.start(&self.turns.limits);
        drop(state);
        self.turns.grant(started);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        state.running -= 1;
        state.unkept -= usize::from(!self.is_short);
        if let Some(own) = state.holders.get_mut(&self.holder) {
            own.running -= 1;
        }
        state.forget_idle(self.holder);
        let started = state.start(&self.turns.limits);
        drop(state);
        self.turns.grant(started);
    }
}

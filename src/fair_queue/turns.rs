//! Places for jobs, given out in fair turns. A job waits for its place in a [`FairQueue`], for a time that
//! grows with its cost and has an end.
//!
//! - Jobs that somebody awaits go before those that nobody awaits; these get at least every fifth turn.
//! - The kept places are for awaited short jobs: however many long ones or deferred ones there are, a short
//!   check waits for other short checks only.
//! - While places are kept, the short jobs of one access key have not all of them, and no access key has more
//!   than its part of what may wait. Its own long jobs hold up none of its short ones.
//! - While nobody waits, short jobs take their place without a lock ([`QuickPlaces`]).

mod limits;
#[cfg(test)]
mod tests;

pub(crate) use limits::TurnLimits;

use super::claim::{Claim, Urgency};
use super::fair_order::{FairQueue, JobClass, OpenClasses, Ticket};
use super::quick_places::QuickPlaces;
use std::collections::{HashMap, HashSet};
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
    quick: QuickPlaces,
    state: Mutex<State>,
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

/// What is taken or waits under the lock. While that is anything, the quick places are closed.
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
}

/// What one access key has.
#[derive(Default)]
struct Holder {
    running: usize,
    /// Running jobs that may take a kept place.
    short: usize,
    waiting: usize,
    waiting_cost: u64,
}

struct Waiter {
    claim: Claim,
    cost: u64,
    class: JobClass,
    granted: oneshot::Sender<Turn>,
}

/// A job in the queue, which leaves it when this is dropped.
struct Waiting {
    turns: Arc<Turns>,
    ticket: Ticket,
    urgency: Urgency,
    granted: oneshot::Receiver<Turn>,
    has_left: bool,
}

/// Where a job finds itself that has asked for a place.
enum Entered {
    Started(Turn),
    Waits(Waiting),
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
        let mut waiting = match self.enter(claim, cost)? {
            Entered::Started(turn) => return Ok(turn),
            Entered::Waits(waiting) => waiting,
        };
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
        let quick: HashSet<u64> = self.quick.holders().collect();
        let quick = quick.iter().filter(|it| !state.holders.contains_key(it));
        TurnFigures {
            places: self.limits.places,
            running: state.running + self.quick.running(),
            waiting: state.waiting(),
            waiting_cost: state.waiting_cost,
            holders: state.holders.len() + quick.count(),
        }
    }

    /// Queues a job, which may have its place at once.
    fn enter(self: &Arc<Self>, claim: Claim, cost: u64) -> Result<Entered, NoTurn> {
        let (sender, mut granted) = oneshot::channel();
        let mut state = self.lock();
        self.quick.close();
        let ticket = state.push(Waiter {
            claim,
            cost,
            class: self.limits.class(claim.urgency, cost),
            granted: sender,
        });
        let started = state.start(self.view());
        let is_over = state.is_over(&self.limits, claim.tenant.holder);
        drop(state);
        self.grant(started);
        if let Ok(turn) = granted.try_recv() {
            return Ok(Entered::Started(turn));
        }
        let waiting = Waiting {
            turns: self.clone(),
            ticket,
            urgency: claim.urgency,
            granted,
            has_left: false,
        };
        match is_over {
            true => Err(NoTurn::Full),
            false => Ok(Entered::Waits(waiting)),
        }
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
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let started = state.start(self.view());
        self.open_if_idle(&state);
        drop(state);
        self.grant(started);
    }

    /// Under the lock.
    fn open_if_idle(&self, state: &State) {
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

    fn waiting(&self) -> usize {
        self.awaited.len() + self.deferred.len()
    }

    fn push(&mut self, waiter: Waiter) -> Ticket {
        let Waiter {
            claim, cost, class, ..
        } = waiter;
        let holder = self.holders.entry(claim.tenant.holder).or_default();
        holder.waiting += 1;
        holder.waiting_cost = holder.waiting_cost.saturating_add(cost);
        self.waiting_cost = self.waiting_cost.saturating_add(cost);
        let queue = self.queue(claim.urgency);
        queue.push(claim.tenant, class, cost, waiter)
    }

    /// Whether more waits than may. When all together are over the bound, those are refused that have more than
    /// an equal part of it; one job of an access key may wait until twice as much does.
    fn is_over(&self, limits: &TurnLimits, holder: u64) -> bool {
        let Some(own) = self.holders.get(&holder) else {
            return false;
        };
        let most = limits.waiting_cost;
        if own.waiting == 1 {
            return most == 0 || self.waiting() > 1 && self.waiting_cost > most.saturating_mul(2);
        }
        let part = most / self.holders.len().max(1) as u64;
        own.waiting_cost > most / limits.parts
            || self.waiting_cost > most && own.waiting_cost > part
            || self.waiting_cost > most.saturating_mul(2)
    }

    /// Starts what has a place, and returns it.
    fn start(&mut self, view: View<'_>) -> Vec<Waiter> {
        std::iter::from_fn(|| self.start_one(view)).collect()
    }

    fn start_one(&mut self, view: View<'_>) -> Option<Waiter> {
        let open = view.open_classes(self)?;
        let order = match self.awaited_in_a_row < MOST_AWAITED_IN_A_ROW {
            true => [Urgency::Awaited, Urgency::Deferred],
            false => [Urgency::Deferred, Urgency::Awaited],
        };
        let mut next = |urgency| {
            let Self {
                holders,
                awaited,
                deferred,
                ..
            } = &mut *self;
            let queue = match urgency {
                Urgency::Awaited => awaited,
                Urgency::Deferred => deferred,
            };
            queue.next(open, |holder| view.is_held_back(holders, holder))
        };
        let waiter = order.into_iter().find_map(&mut next)?;
        self.awaited_in_a_row = match waiter.claim.urgency {
            Urgency::Awaited => self.awaited_in_a_row.saturating_add(1),
            Urgency::Deferred => 0,
        };
        let holder = waiter.claim.tenant.holder;
        self.note_started(holder, waiter.class);
        self.leave_queue(&waiter);
        Some(waiter)
    }

    fn note_started(&mut self, holder: u64, class: JobClass) {
        let own = self.holders.entry(holder).or_default();
        own.running += 1;
        self.running += 1;
        match class {
            JobClass::Short => own.short += 1,
            JobClass::Long => self.unkept += 1,
        }
    }

    fn note_ended(&mut self, holder: u64, class: JobClass) {
        self.running -= 1;
        if let Some(own) = self.holders.get_mut(&holder) {
            own.running -= 1;
            own.short -= usize::from(class == JobClass::Short);
        }
        self.unkept -= usize::from(class == JobClass::Long);
        self.forget_idle(holder);
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

/// What decides under the lock whether a job may start.
#[derive(Clone, Copy)]
struct View<'a> {
    limits: &'a TurnLimits,
    quick: &'a QuickPlaces,
}

impl View<'_> {
    /// The classes that have a place; None where there is none at all.
    fn open_classes(self, state: &State) -> Option<OpenClasses> {
        let running = state.running + self.quick.running();
        let common = self.limits.common();
        (running < self.limits.places).then_some(OpenClasses {
            short: true,
            long: state.unkept < common,
        })
    }

    /// Whether the short jobs of a key have as many places as they may.
    fn is_held_back(self, holders: &HashMap<u64, Holder>, holder: u64) -> bool {
        let quick = self.quick.holders().filter(|it| *it == holder).count();
        let own = holders.get(&holder).map_or(0, |own| own.short);
        own + quick >= self.limits.common()
    }
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

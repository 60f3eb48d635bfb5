//! What runs and waits under the lock of [`Turns`](super::Turns), and who may start.

use super::limits::TurnLimits;
use crate::fair_queue::claim::{Claim, Urgency};
use crate::fair_queue::fair_order::{FairQueue, JobClass, OpenClasses, Ticket};
use crate::fair_queue::quick_places::QuickPlaces;
use std::collections::HashMap;

/// Awaited jobs in a row while deferred ones wait.
const MOST_AWAITED_IN_A_ROW: u32 = 4;

/// What is taken or waits under the lock. While that is anything, the quick places are closed. `G` is how a
/// waiter is woken.
pub(super) struct State<G> {
    pub(super) running: usize,
    /// Running jobs that hold an unreserved place.
    running_unreserved: usize,
    pub(super) holders: HashMap<u64, Holder>,
    awaited: FairQueue<Waiter<G>>,
    deferred: FairQueue<Waiter<G>>,
    awaited_in_a_row: u32,
    pub(super) waiting_cost: u64,
}

/// What one access key has.
#[derive(Default)]
pub(super) struct Holder {
    pub(super) running: usize,
    /// Running jobs that may hold a reserved place.
    short: usize,
    pub(super) waiting: usize,
    pub(super) waiting_cost: u64,
}

/// A job that waits.
pub(super) struct Waiter<G> {
    pub(super) claim: Claim,
    pub(super) cost: u64,
    pub(super) class: JobClass,
    pub(super) granted: G,
}

impl<G> Default for State<G> {
    fn default() -> Self {
        Self {
            running: 0,
            running_unreserved: 0,
            holders: HashMap::new(),
            awaited: FairQueue::default(),
            deferred: FairQueue::default(),
            awaited_in_a_row: 0,
            waiting_cost: 0,
        }
    }
}

impl<G> State<G> {
    pub(super) fn queue(&mut self, urgency: Urgency) -> &mut FairQueue<Waiter<G>> {
        match urgency {
            Urgency::Awaited => &mut self.awaited,
            Urgency::Deferred => &mut self.deferred,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.awaited.len() + self.deferred.len()
    }

    pub(super) fn push(&mut self, waiter: Waiter<G>) -> Ticket {
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
    pub(super) fn is_over(&self, limits: &TurnLimits, holder: u64) -> bool {
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
    pub(super) fn start(&mut self, view: View<'_>) -> Vec<Waiter<G>> {
        std::iter::from_fn(|| self.start_one(view)).collect()
    }

    fn start_one(&mut self, view: View<'_>) -> Option<Waiter<G>> {
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

    pub(super) fn note_started(&mut self, holder: u64, class: JobClass) {
        let own = self.holders.entry(holder).or_default();
        own.running += 1;
        self.running += 1;
        match class {
            JobClass::Short => own.short += 1,
            JobClass::Long => self.running_unreserved += 1,
        }
    }

    pub(super) fn note_ended(&mut self, holder: u64, class: JobClass) {
        self.running -= 1;
        if let Some(own) = self.holders.get_mut(&holder) {
            own.running -= 1;
            own.short -= usize::from(class == JobClass::Short);
        }
        self.running_unreserved -= usize::from(class == JobClass::Long);
        self.forget_idle(holder);
    }

    pub(super) fn leave_queue(&mut self, waiter: &Waiter<G>) {
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
pub(super) struct View<'a> {
    pub(super) limits: &'a TurnLimits,
    pub(super) quick: &'a QuickPlaces,
}

impl View<'_> {
    /// The classes that have a place; None where there is none at all.
    pub(super) fn open_classes(self, state: &State<impl Sized>) -> Option<OpenClasses> {
        let running = state.running + self.quick.running();
        let common = self.limits.common();
        (running < self.limits.places).then_some(OpenClasses {
            short: true,
            long: state.running_unreserved < common,
        })
    }

    /// Whether the short jobs of a key have as many places as they may.
    pub(super) fn is_held_back(self, holders: &HashMap<u64, Holder>, holder: u64) -> bool {
        // A place whose holder is not known yet may be of this key.
        let quick = self.quick.holders();
        let quick = quick.filter(|it| it.is_none_or(|it| it == holder)).count();
        let own = holders.get(&holder).map_or(0, |own| own.short);
        own + quick >= self.limits.common()
    }
}

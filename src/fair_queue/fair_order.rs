//! The order of waiting jobs: start-time fair queueing, first among access keys, then among the applications of
//! one key (P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queuing", 1996). A flow's time grows by the cost of its
//! jobs, a common clock by the part of it that each waiting flow would get; the flow furthest behind is next.
//! Jobs of one tenant keep their order within their class. Every operation takes steps that grow with the
//! logarithm of what waits.
//!
//! A flow that had nothing waiting starts its first job before those of the others (as new flows do in RFC
//! 8290), on credit: it is new again once the clock has passed its time. Where such jobs follow each other,
//! every other turn is for a flow whose time the clock has reached, so that a stream of newcomers starves nobody.

#[cfg(test)]
mod tests;

use super::claim::Tenant;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The cost of a small job, in units of cost; a byte of text is one.
pub(crate) const QUANTUM: u64 = 16 * 1024;

/// A flow that could not start its jobs for a while catches up by at most so much.
const MOST_CATCHING_UP: u128 = 16 << 20;

/// First jobs of newcomers in a row that pass over a flow whose turn it is.
const MOST_PASSING: u32 = 1;

/// Jobs that start or have to wait together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobClass {
    /// Jobs that may take a reserved place.
    Short,
    /// Jobs that take common places only.
    Long,
}

const CLASSES: [JobClass; 2] = [JobClass::Short, JobClass::Long];

/// The classes whose jobs may start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenClasses {
    pub(crate) short: bool,
    pub(crate) long: bool,
}

/// Where a waiting job is found again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticket {
    tenant: Tenant,
    class: JobClass,
    number: u64,
}

/// Jobs that wait, in the order in which tenants take turns.
pub(crate) struct FairQueue<T> {
    holders: Flows<Flows<Line<T>>>,
    jobs: usize,
    last_number: u64,
}

/// Something that has a next job.
trait Backlog {
    type Job;

    /// Whether it has a job in this class.
    fn has(&self, class: JobClass) -> bool;

    /// Takes the next job of the open classes, and says what it costs.
    fn take(&mut self, open: OpenClasses) -> Option<Queued<Self::Job>>;
}

/// One job, and what it costs.
struct Queued<T> {
    cost: u64,
    job: T,
}

/// The jobs of one tenant, first come first served in each class.
struct Line<T>([BTreeMap<u64, Queued<T>>; 2]);

/// Backlogs that take turns.
struct Flows<B> {
    flows: HashMap<u64, Flow<B>>,
    /// Those with a job in the class.
    classes: [BTreeSet<Position>; 2],
    /// Those without a job whose time the clock has not passed.
    in_debt: BTreeSet<(u128, u64)>,
    clock: u128,
    joined: u64,
    /// Newcomers in a row that have passed over another flow.
    passing: u32,
}

struct Flow<B> {
    position: Position,
    backlog: B,
}

/// What decides who is next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    /// It has started a job since it had nothing waiting.
    is_known: bool,
    time: u128,
    /// Among equals, first come first served.
    joined: u64,
    key: u64,
}

impl OpenClasses {
    pub(crate) const ALL: Self = Self {
        short: true,
        long: true,
    };

    fn has(self, class: JobClass) -> bool {
        match class {
            JobClass::Short => self.short,
            JobClass::Long => self.long,
        }
    }
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            holders: Flows::default(),
            jobs: 0,
            last_number: 0,
        }
    }
}

impl<T> FairQueue<T> {
    /// Adds a job behind the others of its tenant and class.
    pub(crate) fn push(&mut self, tenant: Tenant, class: JobClass, cost: u64, job: T) -> Ticket {
        self.last_number += 1;
        self.jobs += 1;
        let ticket = Ticket {
            tenant,
            class,
            number: self.last_number,
        };
        self.at(ticket, |line| {
            line.insert(ticket.number, Queued { cost, job })
        });
        ticket
    }

    /// Takes the next job of the open classes, without the short ones of holders that are held back.
    pub(crate) fn next(
        &mut self,
        open: OpenClasses,
        is_held_back: impl Fn(u64) -> bool,
    ) -> Option<T> {
        if self.jobs == 0 {
            return None;
        }
        let taken = self.holders.take_next(open, &is_held_back)?;
        self.count_out();
        Some(taken.job)
    }

    /// Removes a job, if it still waits.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<T> {
        let removed = self.at(ticket, |line| line.remove(&ticket.number))?;
        self.count_out();
        Some(removed.job)
    }

    /// The number of waiting jobs.
    pub(crate) fn len(&self) -> usize {
        self.jobs
    }

    fn at<R>(
        &mut self,
        ticket: Ticket,
        change: impl FnOnce(&mut BTreeMap<u64, Queued<T>>) -> R,
    ) -> R {
        let Ticket { tenant, class, .. } = ticket;
        self.holders.change(tenant.holder, |applications| {
            applications.change(tenant.application, |line| {
                change(&mut line.0[class as usize])
            })
        })
    }

    /// Nobody owes anything to nobody.
    fn count_out(&mut self) {
        self.jobs -= 1;
        if self.jobs == 0 {
            self.holders = Flows::default();
        }
    }
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self([BTreeMap::new(), BTreeMap::new()])
    }
}

impl<T> Backlog for Line<T> {
    type Job = T;

    fn has(&self, class: JobClass) -> bool {
        !self.0[class as usize].is_empty()
    }

    fn take(&mut self, open: OpenClasses) -> Option<Queued<T>> {
        let first = |class: &JobClass| Some(*self.0[*class as usize].first_key_value()?.0);
        let classes = CLASSES.into_iter().filter(|class| open.has(*class));
        let waiting = classes.filter(|class| self.has(*class));
        let class = waiting.min_by_key(first)?;
        self.0[class as usize].pop_first().map(|(_, job)| job)
    }
}

impl<B> Default for Flows<B> {
    fn default() -> Self {
        Self {
            flows: HashMap::new(),
            classes: [BTreeSet::new(), BTreeSet::new()],
            in_debt: BTreeSet::new(),
            clock: 0,
            joined: 0,
            passing: 0,
        }
    }
}

impl<B: Backlog + Default> Flows<B> {
    /// Changes the backlog of a key.
    fn change<R>(&mut self, key: u64, change: impl FnOnce(&mut B) -> R) -> R {
        let mut flow = self.taken_out(key);
        let result = change(&mut flow.backlog);
        self.put_back(flow);
        result
    }

    /// A flow that is in no list; a new one where the key has none.
    fn taken_out(&mut self, key: u64) -> Flow<B> {
        let Some(mut flow) = self.flows.remove(&key) else {
            self.joined += 1;
            return Flow {
                position: Position {
                    is_known: false,
                    time: self.clock,
                    joined: self.joined,
                    key,
                },
                backlog: B::default(),
            };
        };
        if self.in_debt.remove(&(flow.position.time, key)) {
            self.joined += 1;
            flow.position.joined = self.joined;
        }
        for class in &mut self.classes {
            class.remove(&flow.position);
        }
        flow
    }

    /// Lists a flow where it belongs, or forgets it if it has no job and owes nothing.
    fn put_back(&mut self, flow: Flow<B>) {
        let position = flow.position;
        let mut is_waiting = false;
        for class in CLASSES.into_iter().filter(|class| flow.backlog.has(*class)) {
            is_waiting = true;
            self.classes[class as usize].insert(position);
        }
        if !is_waiting {
            if position.time <= self.clock {
                return;
            }
            self.in_debt.insert((position.time, position.key));
        }
        self.flows.insert(position.key, flow);
    }

    /// Takes the next job of the open classes, without the short ones of keys that are held back.
    fn take_next(
        &mut self,
        open: OpenClasses,
        is_held_back: &dyn Fn(u64) -> bool,
    ) -> Option<Queued<B::Job>> {
        let next = self.choose(open, is_held_back)?;
        let open = OpenClasses {
            short: open.short && !is_held_back(next.key),
            ..open
        };
        let waiting = self.flows.len() - self.in_debt.len();
        let mut flow = self.taken_out(next.key);
        let taken = flow.backlog.take(open);
        let cost = taken.as_ref().map_or(0, |taken| taken.cost);
        let oldest = self.clock.saturating_sub(MOST_CATCHING_UP);
        flow.position.time = next.time.max(oldest) + u128::from(cost);
        flow.position.is_known = true;
        self.clock = self.clock.max(next.time) + u128::from(cost) / waiting.max(1) as u128;
        self.put_back(flow);
        self.forget_settled();
        taken
    }

    /// Decides who is next.
    fn choose(
        &mut self,
        open: OpenClasses,
        is_held_back: &dyn Fn(u64) -> bool,
    ) -> Option<Position> {
        let newcomer = self.first(false, open, is_held_back);
        let known = self.first(true, open, is_held_back);
        let due = known.filter(|known| known.time <= self.clock);
        let (Some(newcomer), Some(due)) = (newcomer, due) else {
            return newcomer.or(known);
        };
        let passes = self.passing < MOST_PASSING;
        self.passing = if passes { self.passing + 1 } else { 0 };
        Some(if passes { newcomer } else { due })
    }

    /// The first of the newcomers, or of the others.
    fn first(
        &self,
        is_known: bool,
        open: OpenClasses,
        is_held_back: &dyn Fn(u64) -> bool,
    ) -> Option<Position> {
        let of_class = |class: JobClass| {
            let begin = Position {
                is_known,
                time: 0,
                joined: 0,
                key: 0,
            };
            let positions = self.classes[class as usize].range(begin..);
            // Few keys are held back: they have all places of one key.
            positions
                .take_while(|position| position.is_known == is_known)
                .find(|position| class == JobClass::Long || !is_held_back(position.key))
                .copied()
        };
        let classes = CLASSES.into_iter().filter(|class| open.has(*class));
        classes.filter_map(of_class).min()
    }

    /// Forgets the flows without a job whose time the clock has passed.
    fn forget_settled(&mut self) {
        while let Some((_, key)) = self.in_debt.first().filter(|(time, _)| *time <= self.clock) {
            self.flows.remove(key);
            self.in_debt.pop_first();
        }
    }
}

impl<B: Backlog + Default> Backlog for Flows<B> {
    type Job = B::Job;

    fn has(&self, class: JobClass) -> bool {
        !self.classes[class as usize].is_empty()
    }

    fn take(&mut self, open: OpenClasses) -> Option<Queued<B::Job>> {
        self.take_next(open, &|_| false)
    }
}

//! The order of waiting jobs: deficit round robin, first among access keys, then among the applications of
//! one key (M. Shreedhar, G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995). In each
//! round a tenant may start jobs of one quantum; what a large job lacks, it saves up for. Jobs of one tenant
//! keep their order.
//!
//! A tenant that had nothing waiting starts its first job before those of the others (as new flows do in
//! RFC 8290), on credit: it takes part in the rounds again once it has paid that back, even if it goes away
//! and returns meanwhile.

#[cfg(test)]
mod tests;

use super::claim::Tenant;
use std::collections::VecDeque;

/// What a tenant may spend in one round, in units of cost; a byte of text is one.
pub(crate) const QUANTUM: u64 = 16 * 1024;

/// Jobs that wait, in the order in which tenants take turns.
pub(crate) struct FairQueue<T> {
    holders: Ring<Ring<Line<T>>>,
}

/// One job, and what it costs.
struct Queued<T> {
    cost: u64,
    job: T,
}

/// Something that has a next job.
trait Backlog {
    type Job;

    /// Settles which job is next, and its cost; None while none of them may start.
    fn next_cost(&mut self, may_start: &dyn Fn(&Self::Job) -> bool) -> Option<u64>;

    /// Takes the job that [`Self::next_cost`] has settled on.
    fn take(&mut self) -> Option<Queued<Self::Job>>;

    /// Removes one job.
    fn remove(&mut self, is_it: &dyn Fn(&Self::Job) -> bool) -> Option<Self::Job>;

    fn is_empty(&self) -> bool;
}

/// The jobs of one tenant, first come first served.
struct Line<T>(VecDeque<Queued<T>>);

/// Backlogs that take turns. Those in debt stay without a job.
struct Ring<B> {
    flows: VecDeque<Flow<B>>,
    jobs: usize,
}

struct Flow<B> {
    key: u64,
    /// What it may still spend; negative: what it owes.
    deficit: i128,
    /// It has got its quantum of this round.
    has_turn: bool,
    /// Its first job goes before those of the others.
    is_new: bool,
    backlog: B,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            holders: Ring::default(),
        }
    }
}

impl<T> FairQueue<T> {
    /// Adds a job behind the others of its tenant.
    pub(crate) fn push(&mut self, tenant: Tenant, cost: u64, job: T) {
        let applications = self.holders.joined(tenant.holder);
        let line = applications.joined(tenant.application);
        line.0.push_back(Queued { cost, job });
    }

    /// Takes the next job among those that may start. A job that may not also holds back those behind it of
    /// the same tenant, and no others.
    pub(crate) fn next(&mut self, may_start: impl Fn(&T) -> bool) -> Option<T> {
        self.holders.next_cost(&may_start)?;
        self.holders.take().map(|taken| taken.job)
    }

    /// Removes the job that is meant.
    pub(crate) fn remove(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        self.holders.remove(&is_it)
    }

    /// The number of waiting jobs.
    pub(crate) fn len(&self) -> usize {
        self.holders.jobs
    }
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Backlog for Line<T> {
    type Job = T;

    fn next_cost(&mut self, may_start: &dyn Fn(&T) -> bool) -> Option<u64> {
        let first = self.0.front()?;
        may_start(&first.job).then_some(first.cost)
    }

    fn take(&mut self) -> Option<Queued<T>> {
        self.0.pop_front()
    }

    fn remove(&mut self, is_it: &dyn Fn(&T) -> bool) -> Option<T> {
        let place = self.0.iter().position(|queued| is_it(&queued.job))?;
        self.0.remove(place).map(|queued| queued.job)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<B> Default for Ring<B> {
    fn default() -> Self {
        Self {
            flows: VecDeque::new(),
            jobs: 0,
        }
    }
}

impl<B: Backlog + Default> Ring<B> {
    /// The backlog of a key, which gets a job.
    fn joined(&mut self, key: u64) -> &mut B {
        self.jobs += 1;
        let place = self.flows.iter().position(|flow| flow.key == key);
        let place = place.unwrap_or_else(|| {
            let others = self.flows.iter().take_while(|flow| flow.is_new);
            let place = others.count();
            let flow = Flow {
                key,
                deficit: 0,
                has_turn: false,
                is_new: true,
                backlog: B::default(),
            };
            self.flows.insert(place, flow);
            place
        });
        &mut self.flows[place].backlog
    }
}

/// How a round ended in which no flow could start a job.
enum Round {
    /// No job may start.
    NothingStarts,
    /// What the flow lacks that lacks least.
    Lacks(i128),
}

impl<B: Backlog> Ring<B> {
    /// Passes the turn on until a flow can pay for its next job, and gives that job's cost.
    fn one_round(&mut self, may_start: &dyn Fn(&B::Job) -> bool) -> Result<u64, Round> {
        let mut end = Round::NothingStarts;
        for _ in 0..self.flows.len() {
            let Some(flow) = self.flows.front_mut() else {
                break;
            };
            let cost = flow.backlog.next_cost(may_start);
            if let Some(cost) = cost.filter(|_| flow.is_new) {
                return Ok(cost);
            }
            if (cost.is_some() || flow.backlog.is_empty())
                && !std::mem::replace(&mut flow.has_turn, true)
            {
                flow.deficit += i128::from(QUANTUM);
            }
            if let Some(cost) = cost {
                let lack = i128::from(cost) - flow.deficit;
                if lack <= 0 {
                    return Ok(cost);
                }
                end = match end {
                    Round::Lacks(least) => Round::Lacks(least.min(lack)),
                    Round::NothingStarts => Round::Lacks(lack),
                };
            }
            flow.has_turn = false;
            match flow.backlog.is_empty() && flow.deficit >= 0 {
                true => drop(self.flows.pop_front()),
                false => self.flows.rotate_left(1),
            }
        }
        Err(end)
    }

    /// Gives the quanta of so many rounds at once, so that a large job costs no more steps than a small one.
    fn skip_rounds(&mut self, rounds: i128, may_start: &dyn Fn(&B::Job) -> bool) {
        for flow in &mut self.flows {
            let is_waiting = flow.backlog.next_cost(may_start).is_some();
            if is_waiting || flow.backlog.is_empty() {
                flow.deficit += rounds * i128::from(QUANTUM);
            }
        }
    }
}

impl<B: Backlog> Backlog for Ring<B> {
    type Job = B::Job;

    fn next_cost(&mut self, may_start: &dyn Fn(&B::Job) -> bool) -> Option<u64> {
        if self.jobs == 0 {
            return None;
        }
        loop {
            match self.one_round(may_start) {
                Ok(cost) => return Some(cost),
                Err(Round::NothingStarts) => return None,
                Err(Round::Lacks(lack)) => {
                    // The next round gives the last quantum.
                    let rounds = (lack - 1) / i128::from(QUANTUM);
                    self.skip_rounds(rounds, may_start);
                }
            }
        }
    }

    fn take(&mut self) -> Option<Queued<B::Job>> {
        let flow = self.flows.front_mut()?;
        let taken = flow.backlog.take()?;
        self.jobs -= 1;
        flow.deficit -= i128::from(taken.cost);
        let was_new = std::mem::take(&mut flow.is_new);
        let is_empty = flow.backlog.is_empty();
        if is_empty {
            // Who has nothing to start saves nothing up.
            flow.deficit = flow.deficit.min(0);
        }
        if was_new || is_empty {
            flow.has_turn = false;
            self.flows.rotate_left(1);
        }
        Some(taken)
    }

    fn remove(&mut self, is_it: &dyn Fn(&B::Job) -> bool) -> Option<B::Job> {
        let mut flows = self.flows.iter_mut();
        let removed = flows.find_map(|flow| flow.backlog.remove(is_it))?;
        self.jobs -= 1;
        // A new flow without a job is no longer new: it would be forgotten only after a turn.
        self.flows
            .retain(|flow| !(flow.is_new && flow.backlog.is_empty()));
        Some(removed)
    }

    fn is_empty(&self) -> bool {
        self.jobs == 0
    }
}

//! The order of waiting jobs: deficit round robin, first among access keys, then among the applications of
//! one key (M. Shreedhar, G. Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995). In each
//! round a tenant may start jobs of one quantum; what a large job lacks, it saves up for. Jobs of one tenant
//! keep their order.
//!
//! A tenant that had nothing waiting starts its first job before those of the others (as new flows do in
//! RFC 8290), on credit: it takes part in the rounds again once it has paid that back, even if it goes away
//! and returns meanwhile.

use super::Tenant;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const KIB: u64 = 1024;
    const MIB: u64 = 1024 * KIB;

    fn tenant(holder: u64, application: u64) -> Tenant {
        Tenant {
            holder,
            application,
        }
    }

    /// The order of everything that waits.
    fn order<T>(queue: &mut FairQueue<T>) -> Vec<T> {
        std::iter::from_fn(|| queue.next(|_| true)).collect()
    }

    #[test]
    fn a_newcomer_waits_for_no_backlog_of_the_others() {
        let mut queue = FairQueue::default();
        for job in 0..100 {
            for flooding in 1..=5 {
                queue.push(tenant(flooding, 0), 4 * MIB, (flooding, job));
            }
        }
        queue.push(tenant(6, 0), 70 * KIB, (6, 0));
        let order = order(&mut queue);
        let place = order.iter().position(|(holder, _)| *holder == 6).unwrap();
        assert_eq!(place, 0, "jobs that went before it");
        assert_eq!(order.len(), 501);
    }

    #[test]
    fn who_comes_and_goes_gets_no_more_than_who_stays() {
        let mut queue = FairQueue::default();
        for _ in 0..200 {
            queue.push(tenant(1, 0), 64 * KIB, 1);
        }
        let mut of_two = 0;
        for _ in 0..100 {
            // It has one job at a time, and is back at once.
            if queue.len() == queue_of_one(&queue) {
                queue.push(tenant(2, 0), 64 * KIB, 2);
            }
            of_two += usize::from(queue.next(|_| true) == Some(2));
        }
        assert!((45..=55).contains(&of_two), "{of_two} of 100");
    }

    /// The jobs of the first key alone.
    fn queue_of_one(queue: &FairQueue<i32>) -> usize {
        let flows = queue.holders.flows.iter();
        let own = flows.filter(|flow| flow.key == 1);
        own.map(|flow| flow.backlog.jobs).sum()
    }

    #[test]
    fn tenants_get_equal_bytes_whatever_the_size_of_their_jobs() {
        let mut queue = FairQueue::default();
        for _ in 0..64 {
            queue.push(tenant(1, 0), MIB, (1, MIB));
        }
        for _ in 0..16 * 64 {
            queue.push(tenant(2, 0), 64 * KIB, (2, 64 * KIB));
        }
        let mut spent = [0_u64; 3];
        for _ in 0..500 {
            let (holder, cost) = queue.next(|_| true).unwrap();
            spent[holder] += cost;
        }
        assert!(spent[1].abs_diff(spent[2]) <= 2 * MIB, "{spent:?}");
    }

    #[test]
    fn further_applications_of_one_key_give_it_no_further_share() {
        let mut queue = FairQueue::default();
        for application in 0..50 {
            for _ in 0..20 {
                queue.push(tenant(1, application), 64 * KIB, 1);
            }
        }
        for _ in 0..200 {
            queue.push(tenant(2, 0), 64 * KIB, 2);
        }
        let first: Vec<_> = (0..400).filter_map(|_| queue.next(|_| true)).collect();
        let of_two = first.iter().filter(|holder| **holder == 2).count();
        assert!((195..=205).contains(&of_two), "{of_two} of 400");
    }

    #[test]
    fn the_applications_of_one_key_take_turns_with_each_other() {
        let mut queue = FairQueue::default();
        for _ in 0..50 {
            queue.push(tenant(1, 1), 64 * KIB, 1);
        }
        queue.push(tenant(1, 2), 64 * KIB, 2);
        let place = order(&mut queue).iter().position(|job| *job == 2).unwrap();
        assert!(place <= 1, "{place}");
    }

    #[test]
    fn the_jobs_of_one_tenant_keep_their_order() {
        let mut queue = FairQueue::default();
        for job in 0..300_u64 {
            queue.push(tenant(job % 3, 0), (job * 7919) % MIB, job);
        }
        let order = order(&mut queue);
        for holder in 0..3 {
            let own: Vec<_> = order.iter().filter(|job| *job % 3 == holder).collect();
            assert!(own.is_sorted() && own.len() == 100);
        }
    }

    #[test]
    fn a_job_that_may_not_start_holds_back_its_own_tenant_alone() {
        let mut queue = FairQueue::default();
        queue.push(tenant(1, 0), MIB, "large");
        queue.push(tenant(1, 0), KIB, "behind it");
        queue.push(tenant(2, 0), KIB, "small");
        let short = |job: &&str| *job != "large";
        assert_eq!(queue.next(short), Some("small"));
        assert_eq!(queue.next(short), None);
        assert_eq!(queue.next(|_| true), Some("large"));
        assert_eq!(queue.next(short), Some("behind it"));
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn who_had_nothing_to_do_has_saved_nothing_up() {
        let mut queue = FairQueue::default();
        for _ in 0..1000 {
            queue.push(tenant(1, 0), 16 * KIB, 1);
            assert_eq!(queue.next(|_| true), Some(1));
        }
        for _ in 0..10 {
            queue.push(tenant(1, 0), 64 * KIB, 1);
            queue.push(tenant(2, 0), 64 * KIB, 2);
        }
        let first: Vec<_> = (0..10).filter_map(|_| queue.next(|_| true)).collect();
        let of_one = first.iter().filter(|holder| **holder == 1).count();
        assert!((4..=5).contains(&of_one), "{first:?}");
    }

    #[test]
    fn a_job_that_goes_away_leaves_no_trace() {
        let mut queue = FairQueue::default();
        queue.push(tenant(1, 0), KIB, 1);
        queue.push(tenant(2, 0), KIB, 2);
        assert_eq!(queue.remove(|job| *job == 1), Some(1));
        assert_eq!(queue.remove(|job| *job == 1), None);
        assert_eq!(order(&mut queue), [2]);
    }

    #[test]
    fn the_largest_cost_there_is_comes_to_an_end() {
        let mut queue = FairQueue::default();
        queue.push(tenant(1, 0), u64::MAX, 1);
        queue.push(tenant(2, 0), u64::MAX, 2);
        queue.push(tenant(3, 0), 0, 3);
        let mut order = order(&mut queue);
        assert_eq!(order.pop().map(|job| job < 3), Some(true));
        assert_eq!(order.len(), 2);
    }
}

//! Who is next, job by job.
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
    // Each of them has had its first job.
    for _ in 0..5 {
        assert_eq!(queue.next(|_| true).map(|(_, job)| job), Some(0));
    }
    queue.push(tenant(6, 0), 70 * KIB, (6, 0));
    let order = order(&mut queue);
    let place = order.iter().position(|(holder, _)| *holder == 6).unwrap();
    assert_eq!(place, 0, "jobs that went before it");
    assert_eq!(order.len(), 496);
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
    queue.push(tenant(3, 0), u64::MAX, 4);
    queue.push(tenant(1, 0), 1, 5);
    let mut order = order(&mut queue);
    order.sort_unstable();
    assert_eq!(order, [1, 2, 3, 4, 5]);
}

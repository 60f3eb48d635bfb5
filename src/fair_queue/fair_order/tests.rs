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
    std::iter::from_fn(|| next(queue)).collect()
}

fn next<T>(queue: &mut FairQueue<T>) -> Option<T> {
    queue.next(OpenClasses::ALL, |_| false)
}

/// How many of the next so many jobs are this holder's.
fn jobs_of(holder: usize, queue: &mut FairQueue<usize>, count: usize) -> usize {
    let next = (0..count).filter_map(|_| next(queue));
    next.filter(|of| *of == holder).count()
}

/// What the queue remembers of tenants.
fn flows<T>(queue: &FairQueue<T>) -> usize {
    let holders = queue.holders.flows.values();
    let applications = holders.map(|holder| holder.backlog.flows.len());
    queue.holders.flows.len() + applications.sum::<usize>()
}

#[test]
fn a_newcomer_waits_for_no_backlog_of_the_others() {
    let mut queue = FairQueue::default();
    for job in 0..100 {
        for flooding in 1..=5 {
            queue.push(
                tenant(flooding, 0),
                JobClass::Short,
                4 * MIB,
                (flooding, job),
            );
        }
    }
    // Each of them has had its first job.
    for _ in 0..5 {
        assert_eq!(next(&mut queue).map(|(_, job)| job), Some(0));
    }
    queue.push(tenant(6, 0), JobClass::Short, 70 * KIB, (6, 0));
    let order = order(&mut queue);
    let place = order.iter().position(|(holder, _)| *holder == 6).unwrap();
    assert_eq!(place, 0, "jobs that went before it");
    assert_eq!(order.len(), 496);
}

#[test]
fn who_comes_and_goes_gets_no_more_than_who_stays() {
    let mut queue = FairQueue::default();
    for _ in 0..200 {
        queue.push(tenant(1, 0), JobClass::Short, 64 * KIB, 1);
    }
    let (mut of_two, mut has_two) = (0, false);
    for _ in 0..100 {
        // It has one job at a time, and is back at once.
        if !std::mem::replace(&mut has_two, true) {
            queue.push(tenant(2, 0), JobClass::Short, 64 * KIB, 2);
        }
        has_two = next(&mut queue) != Some(2);
        of_two += usize::from(!has_two);
    }
    assert!((45..=55).contains(&of_two), "{of_two} of 100");
}

#[test]
fn tenants_get_equal_bytes_whatever_the_size_of_their_jobs() {
    let mut queue = FairQueue::default();
    for _ in 0..64 {
        queue.push(tenant(1, 0), JobClass::Short, MIB, (1, MIB));
    }
    for _ in 0..16 * 64 {
        queue.push(tenant(2, 0), JobClass::Short, 64 * KIB, (2, 64 * KIB));
    }
    let mut spent = [0_u64; 3];
    for _ in 0..500 {
        let (holder, cost) = next(&mut queue).unwrap();
        spent[holder] += cost;
    }
    assert!(spent[1].abs_diff(spent[2]) <= 2 * MIB, "{spent:?}");
}

#[test]
fn further_applications_of_one_key_give_it_no_further_share() {
    let mut queue = FairQueue::default();
    for application in 0..50 {
        for _ in 0..20 {
            queue.push(tenant(1, application), JobClass::Short, 64 * KIB, 1);
        }
    }
    for _ in 0..200 {
        queue.push(tenant(2, 0), JobClass::Short, 64 * KIB, 2);
    }
    let of_two = jobs_of(2, &mut queue, 400);
    assert!((195..=205).contains(&of_two), "{of_two} of 400");
}

#[test]
fn the_applications_of_one_key_take_turns_with_each_other() {
    let mut queue = FairQueue::default();
    for _ in 0..50 {
        queue.push(tenant(1, 1), JobClass::Short, 64 * KIB, 1);
    }
    queue.push(tenant(1, 2), JobClass::Short, 64 * KIB, 2);
    let place = order(&mut queue).iter().position(|job| *job == 2).unwrap();
    assert!(place <= 1, "{place}");
}

#[test]
fn the_jobs_of_one_tenant_keep_their_order() {
    let mut queue = FairQueue::default();
    for job in 0..300_u64 {
        queue.push(tenant(job % 3, 0), JobClass::Short, (job * 7919) % MIB, job);
    }
    let order = order(&mut queue);
    for holder in 0..3 {
        let own: Vec<_> = order.iter().filter(|job| *job % 3 == holder).collect();
        assert!(own.is_sorted() && own.len() == 100);
    }
}

#[test]
fn long_jobs_that_may_not_start_hold_back_no_short_ones() {
    let mut queue = FairQueue::default();
    queue.push(tenant(1, 0), JobClass::Long, MIB, "large");
    queue.push(tenant(1, 0), JobClass::Short, KIB, "behind it");
    queue.push(tenant(2, 0), JobClass::Short, KIB, "small");
    let short = OpenClasses {
        short: true,
        long: false,
    };
    assert_eq!(queue.next(short, |key| key == 1), Some("small"));
    assert_eq!(queue.next(short, |key| key == 1), None);
    assert_eq!(queue.next(short, |_| false), Some("behind it"));
    assert_eq!(queue.next(short, |_| false), None);
    assert_eq!(next(&mut queue), Some("large"));
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_key_that_could_not_start_for_a_while_starves_nobody_afterwards() {
    let mut queue = FairQueue::default();
    for _ in 0..1000 {
        queue.push(tenant(1, 0), JobClass::Long, MIB, 1);
    }
    let short = OpenClasses {
        short: true,
        long: false,
    };
    for _ in 0..1000 {
        queue.push(tenant(2, 0), JobClass::Short, 256 * KIB, 2);
        queue.push(tenant(3, 0), JobClass::Short, 256 * KIB, 3);
    }
    for _ in 0..1000 {
        assert!(queue.next(short, |_| false).is_some());
    }
    let after: Vec<_> = (0..50).filter_map(|_| next(&mut queue)).collect();
    let of_one = after.iter().filter(|holder| **holder == 1).count();
    assert!(of_one < 25, "{of_one} of 50 jobs, and four times as large");
}

#[test]
fn a_stream_of_new_keys_starves_none_that_returns_and_leaves_nothing_behind() {
    let mut queue = FairQueue::default();
    for job in 0..100 {
        queue.push(tenant(1, 0), JobClass::Short, 64 * KIB, job);
    }
    assert_eq!(next(&mut queue), Some(0));
    let mut of_one = 0;
    for number in 0..200 {
        // One comes for each that is served: each turn of the old one leaves a further one waiting.
        queue.push(tenant(10 + number, number), JobClass::Short, 64 * KIB, 1000);
        of_one += usize::from(next(&mut queue) < Some(1000));
    }
    assert!(of_one >= 10, "{of_one} of 200");
    assert_eq!(queue.len(), 99);
    // What waits, and for each a holder and an application at most.
    assert!(flows(&queue) <= 2 * queue.len() + 20, "{}", flows(&queue));
    while next(&mut queue).is_some() {}
    assert_eq!(flows(&queue), 0);
}

#[test]
fn who_had_nothing_to_do_has_saved_nothing_up() {
    let mut queue = FairQueue::default();
    for _ in 0..1000 {
        queue.push(tenant(1, 0), JobClass::Short, 16 * KIB, 1);
        assert_eq!(next(&mut queue), Some(1));
    }
    for _ in 0..10 {
        queue.push(tenant(1, 0), JobClass::Short, 64 * KIB, 1);
        queue.push(tenant(2, 0), JobClass::Short, 64 * KIB, 2);
    }
    let of_one = jobs_of(1, &mut queue, 10);
    assert!((4..=5).contains(&of_one), "{of_one} of 10");
}

#[test]
fn a_job_that_goes_away_leaves_no_trace() {
    let mut queue = FairQueue::default();
    let first = queue.push(tenant(1, 0), JobClass::Short, KIB, 1);
    queue.push(tenant(2, 0), JobClass::Short, KIB, 2);
    assert_eq!(queue.remove(first), Some(1));
    assert!(queue.remove(first).is_none());
    assert_eq!(flows(&queue), 2);
    assert_eq!(order(&mut queue), [2]);
}

#[test]
fn the_largest_cost_there_is_comes_to_an_end() {
    let mut queue = FairQueue::default();
    queue.push(tenant(1, 0), JobClass::Short, u64::MAX, 1);
    queue.push(tenant(2, 0), JobClass::Short, u64::MAX, 2);
    queue.push(tenant(3, 0), JobClass::Short, 0, 3);
    queue.push(tenant(3, 0), JobClass::Short, u64::MAX, 4);
    queue.push(tenant(1, 0), JobClass::Short, 1, 5);
    let mut order = order(&mut queue);
    order.sort_unstable();
    assert_eq!(order, [1, 2, 3, 4, 5]);
}

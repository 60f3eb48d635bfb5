//! Shares of clients by address and by token.

#![allow(clippy::unwrap_used)]
use super::*;
use futures_util::FutureExt as _;

fn shares(most: u64, bytes: usize, connections: usize) -> Arc<ClientShares> {
    let bounds = ClientBounds { bytes, connections };
    ClientShares::new(MemoryBudget::unmeasured(most), bounds, MOST_WAITING)
}

const NO_TIME: Duration = Duration::from_millis(1);

/// A connection that waits for no place.
fn connect(shares: &Arc<ClientShares>, text: &str) -> Option<ConnectionShare> {
    shares.try_connect(Client::Address(network(text.parse().unwrap())))
}

#[test]
fn a_client_has_its_share_and_all_together_have_theirs() {
    let shares = shares(200, 60, 9);
    let mut one = connect(&shares, "10.0.0.1").unwrap();
    let mut same = connect(&shares, "::ffff:10.0.0.1").unwrap();
    let mut other = connect(&shares, "10.0.0.2").unwrap();
    let mut third = connect(&shares, "10.0.0.3").unwrap();
    let mut fourth = connect(&shares, "10.0.0.4").unwrap();
    assert!(one.grow(40) && !same.grow(21) && same.grow(20));
    drop(one);
    assert!(same.grow(40) && !same.grow(1), "60 of one client");
    assert!(other.grow(57) && third.grow(57));
    assert!(fourth.grow(26) && !fourth.grow(1), "200 in all");
    same.release();
    assert!(fourth.grow(20) && !other.grow(4));
    drop((third, fourth));
    drop((same, other));
    assert!(shares.lock().is_empty());
    let mut again = connect(&shares, "10.0.0.5").unwrap();
    assert!(again.grow(60), "everything was returned");
}

#[test]
fn connections_are_counted_by_address_and_by_network_of_ipv6() {
    let shares = shares(100, 60, 2);
    let first = connect(&shares, "2001:db8::1").unwrap();
    let _second = connect(&shares, "2001:db8::ffff:1").unwrap();
    assert!(connect(&shares, "2001:db8::2").is_none());
    let _other = connect(&shares, "2001:db8:0:1::1").unwrap();
    drop(first);
    assert!(connect(&shares, "2001:db8::2").is_some());
}

#[test]
fn a_connection_with_a_token_counts_for_the_token() {
    let shares = shares(1_000, 60, 2);
    let mut open: Vec<_> = (0..2)
        .map(|_| connect(&shares, "10.0.0.1").unwrap())
        .collect();
    assert!(connect(&shares, "10.0.0.1").is_none());
    for share in &mut open {
        share.count_for(7);
    }
    open.extend((0..2).map(|_| connect(&shares, "10.0.0.1").unwrap()));
    assert!(
        open[0].grow(300) && open[1].grow(200) && !open[1].grow(1),
        "half of all"
    );
    assert!(
        open[2].grow(60) && !open[2].grow(1),
        "the address has its own"
    );
    open[2].count_for(7);
    assert_eq!(
        shares.lock()[&Client::Token(7)].connections,
        2,
        "not in the midst of a request"
    );
    open[3].count_for(7);
    // A token has a bound as well.
    while open.len() < 50 {
        let Some(mut share) = connect(&shares, "10.0.0.1") else {
            break;
        };
        share.count_for(7);
        open.push(share);
    }
    assert_eq!(open.len(), 2 * TIMES_AS_MANY + 2);
    drop(open);
    assert!(shares.lock().is_empty());
}

#[tokio::test]
async fn connections_wait_for_a_place_and_not_too_many_of_them() {
    let shares = shares(1_000, 60, 1);
    let address = Some("10.0.0.1".parse().unwrap());
    let mut first = shares.connect(address, NO_TIME).await.unwrap();
    assert!(
        shares.connect(address, NO_TIME).await.is_none(),
        "its time is over"
    );
    let hour = Duration::from_secs(3_600);
    let mut waits: Vec<_> = (0..TIMES_AS_MANY)
        .map(|_| Box::pin(shares.connect(address, hour)))
        .collect();
    let mut connected = || {
        let polled = waits.iter_mut().map(|waits| waits.as_mut().now_or_never());
        polled.flatten().flatten().collect::<Vec<_>>()
    };
    assert!(connected().is_empty());
    let beyond = shares.connect(address, hour).now_or_never();
    assert!(beyond.is_some_and(|share| share.is_none()), "too many wait");
    first.count_for(7);
    assert_eq!(connected().len(), 1);
    drop((waits, first));
    assert!(shares.lock().is_empty());
}

#[tokio::test]
async fn of_many_connections_few_wait_and_a_place_is_for_who_came_first() {
    let shares = shares(1_000, 60, 512);
    let address = Some("10.0.0.1".parse().unwrap());
    let hour = Duration::from_secs(3_600);
    let mut open: Vec<_> = (0..512)
        .map(|_| connect(&shares, "10.0.0.1").unwrap())
        .collect();
    let mut waits: Vec<_> = (0..MOST_WAITING)
        .map(|_| Box::pin(shares.connect(address, hour)))
        .collect();
    for waits in &mut waits {
        assert!(waits.as_mut().now_or_never().is_none());
    }
    let beyond = shares.connect(address, hour).now_or_never();
    assert!(beyond.is_some_and(|share| share.is_none()), "too many wait");
    drop(waits.split_off(2));
    open.truncate(510);
    let mut late = Box::pin(shares.connect(address, hour));
    assert!(late.as_mut().now_or_never().is_none(), "others came first");
    let mut second = waits.pop().unwrap();
    // One that has left passes on what it was told.
    drop(waits);
    let second = second.as_mut().now_or_never().flatten();
    let late = late.now_or_never().flatten();
    assert!(second.is_some() && late.is_some());
    drop((open, second, late));
    assert!(shares.lock().is_empty());
}

#[test]
fn a_trusted_proxy_brings_requests_of_many_clients_that_each_have_their_share() {
    let shares = shares(1_000, 60, 1);
    let proxy = "10.0.0.1".parse().unwrap();
    let (ann, bob) = (
        "203.0.113.5".parse().unwrap(),
        "203.0.113.6".parse().unwrap(),
    );
    let mut first = shares.connect_proxy(proxy).unwrap();
    let mut second = shares.connect_proxy(proxy).unwrap();
    let mut third = shares.connect_proxy(proxy).unwrap();
    first.count_for_client(ann);
    second.count_for_client(ann);
    third.count_for_client(bob);
    assert!(first.grow(40) && !second.grow(21) && second.grow(20));
    assert!(third.grow(60), "another client");
    // The next request of a connection may be another one's, whatever the one before was.
    first.count_for_client(bob);
    assert!(!first.grow(1) && second.grow(40));
    third.release();
    third.count_for(7);
    assert!(third.grow(400) && first.grow(60), "a token has more");
    third.count_for_client(bob);
    assert!(!third.grow(1));
    assert!(
        connect(&shares, "203.0.113.5").is_some(),
        "a connection of its own"
    );
    drop((first, second, third));
    assert!(shares.lock().is_empty());
}

//! One application, key, mode or call never touches another's: §5.3. A round is a
//! fixed number of calls; MONITOR_TEST_MINUTES repeats it for that long.

use crate::crowd::{Client, Done, Expect, POLICIES, judge, marker_in, model};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use support::backend::{Backend, Call};
use support::stack::Stack;
use support::upstream::Upstream;

/// Calls of each client in one round.
const TURNS: usize = 12;

#[test]
fn thirty_two_mixed_clients_get_their_own_bytes_and_leave_their_own_records() {
    // §5.3, CONTRACT 5, 7, 11, 12, 15, 16.
    let (upstream, backend) = (model(), judge());
    let applications: Vec<String> = POLICIES
        .iter()
        .map(|(id, policy)| listed(id, policy))
        .collect();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&format!("applications:\n{}", applications.concat()))
        .start();
    let mut clients = Client::all(stack.gateway_addr);
    let (begin, length) = (Instant::now(), length());
    let mut exchanges = HashSet::new();
    let mut first = 0;
    loop {
        let done = round(&mut clients, first);
        check_records(&done, &backend, &mut exchanges);
        check_upstream(&done, &upstream);
        first += TURNS;
        if begin.elapsed() >= length {
            break;
        }
    }
    println!("{} calls in {:?}", first * clients.len(), begin.elapsed());
    let unchecked = stack.metrics();
    let unchecked = unchecked
        .lines()
        .filter(|line| line.starts_with("monitor_unchecked_total"));
    assert!(unchecked.clone().count() > 0);
    unchecked.for_each(|line| assert!(line.ends_with(" 0"), "{line}"));
}

/// How long to go on; one round unless the environment asks for more.
fn length() -> Duration {
    let minutes = std::env::var("MONITOR_TEST_MINUTES").ok();
    let minutes = minutes.map_or(0.0, |text| text.parse().expect("a number of minutes"));
    Duration::from_secs_f64(minutes * 60.0)
}

/// An entry of `applications`: YAML takes JSON as it is.
fn listed(id: &str, policy: &str) -> String {
    format!("- {{\"id\":\"{id}\",{}\n", &policy[1..])
}

fn round(clients: &mut [Client], first: usize) -> Vec<Done> {
    std::thread::scope(|scope| {
        let calls = |client: &mut Client| -> Vec<Done> {
            (first..first + TURNS)
                .map(|turn| client.call(turn))
                .collect()
        };
        let running: Vec<_> = clients
            .iter_mut()
            .map(|client| scope.spawn(move || calls(client)))
            .collect();
        let ended = running.into_iter().map(|client| client.join());
        ended
            .flat_map(|done| done.expect("a client got what is its own"))
            .collect()
    })
}

/// Every call left one record before and, unless it was blocked, one after, and no other was left.
fn check_records(done: &[Done], backend: &Backend, exchanges: &mut HashSet<String>) {
    let blocked = |done: &&Done| matches!(done.kind.expect, Expect::Blocked(_));
    let expected = 2 * done.len() - done.iter().filter(blocked).count();
    let records = backend.await_calls(expected);
    assert_eq!(records.len(), expected);
    let mut of_call: HashMap<String, Vec<&Call>> = HashMap::new();
    for record in &records {
        of_call
            .entry(marker_in(record.message()))
            .or_default()
            .push(record);
    }
    for call in done {
        let records = of_call.remove(&call.marker()).expect("records of the call");
        let stages: Vec<bool> = records.iter().map(|record| record.is_pre()).collect();
        let expected: &[bool] = if blocked(&call) {
            &[true]
        } else {
            &[true, false]
        };
        assert_eq!(stages, expected, "pre before post, each once: {call:?}");
        records.iter().for_each(|record| check_record(call, record));
        let exchange = records[0].exchange();
        assert!(records.iter().all(|record| record.exchange() == exchange));
        assert!(
            exchanges.insert(exchange.to_owned()),
            "an exchange id came twice"
        );
    }
    assert!(of_call.is_empty(), "records of no call: {of_call:?}");
    backend.forget();
}

fn check_record(call: &Done, record: &Call) {
    let (application, user, session) = call.ids();
    let bearer = format!("Bearer {}", call.key());
    assert_eq!(record.head.values("authorization"), [bearer.as_str()]);
    assert_eq!(record.json["application_id"], application, "{record:?}");
    assert_eq!(record.parameter("user_id"), &user, "{record:?}");
    assert_eq!(record.parameter("session_id"), &session, "{record:?}");
    let message = if record.is_pre() {
        call.prompt()
    } else {
        call.reply()
    };
    assert_eq!(record.message(), message, "{record:?}");
    assert!(record.parameter("unchecked").is_null() && record.parameter("error").is_null());
}

/// Every call that was not blocked reached the model once, with its own bytes.
fn check_upstream(done: &[Done], upstream: &Upstream) {
    let mut bodies: HashMap<Vec<u8>, usize> = HashMap::new();
    for request in upstream.seen().requests {
        for kept_here in [
            "x-monitor-api-key",
            "x-application-id",
            "x-user-id",
            "x-session-id",
        ] {
            assert!(!request.head.has(kept_here));
        }
        *bodies.entry(request.body).or_default() += 1;
    }
    for call in done {
        let expected = match call.kind.expect {
            Expect::Blocked(_) => None,
            _ => Some(1),
        };
        assert_eq!(
            bodies.remove(call.forwarded().as_bytes()),
            expected,
            "{call:?}"
        );
    }
    assert!(bodies.is_empty(), "the model was sent what nobody said");
    upstream.forget();
}

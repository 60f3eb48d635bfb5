//! CONTRACT 11 and 23 through the binary: what is promised of a record holds when the process is
//! killed, the backend is away, or the disk is full. MONITOR_KILL_ROUNDS makes the killing longer.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use support::backend::{Backend, Call, Manner};
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{ANSWER, Upstream, json};
use support::{PATIENCE, assert_envelope, eventually};

const CLIENTS: usize = 4;
/// After this time a record counts as promised by `batched`. 50 ms are what is said of it; a machine
/// that runs every test at once is given more. MONITOR_KILL_AGE_MS sets it.
fn old_enough() -> Duration {
    let given = std::env::var("MONITOR_KILL_AGE_MS");
    Duration::from_millis(given.map_or(300, |text| text.parse().unwrap()))
}

fn registering(upstream: &Upstream, backend: &Backend, durability: &str) -> Builder {
    Stack::gateway()
        .upstream(upstream)
        .monitor(backend)
        .yaml(&format!("spool: {{durability: {durability}}}"))
}

/// Calls that were answered, by the user each named, with when.
type Answered = Arc<Mutex<HashMap<String, Instant>>>;

/// Calls from some clients until told to stop.
fn load(
    stack: &Stack,
    round: usize,
    stop: &Arc<AtomicBool>,
    answered: &Answered,
) -> Vec<std::thread::JoinHandle<()>> {
    let address = stack.gateway_addr;
    let client = |client: usize| {
        let (stop, answered) = (stop.clone(), answered.clone());
        std::thread::spawn(move || {
            for call in 0.. {
                let user = format!("{round}-{client}-{call}");
                let request = Request::chat(HELLO).header("X-User-Id", &user);
                if stop.load(Ordering::Relaxed) || request.try_status(address) != Some(200) {
                    return;
                }
                answered.lock().unwrap().insert(user, Instant::now());
            }
        })
    };
    (0..CLIENTS).map(client).collect()
}

/// Exchanges by stage and user: how many different ones there are.
fn registered(calls: &[Call]) -> HashMap<(bool, String), Vec<String>> {
    let mut found: HashMap<_, Vec<String>> = HashMap::new();
    for call in calls {
        let user = call.parameter("user_id").as_str().unwrap().to_owned();
        let exchanges = found.entry((call.is_pre(), user)).or_default();
        if !exchanges.contains(&call.exchange().to_owned()) {
            exchanges.push(call.exchange().to_owned());
        }
    }
    found
}

fn kill_under_load(durability: &str, old_enough: Duration, stages: &[bool]) {
    let rounds = std::env::var("MONITOR_KILL_ROUNDS").map_or(10, |text| text.parse().unwrap());
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let folder = Folder::new();
    let mut promised = Vec::new();
    for round in 0..rounds {
        let mut stack = registering(&upstream, &backend, durability)
            .folder(&folder)
            .start();
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Answered::default());
        let clients = load(&stack, round, &stop, &answered);
        let moment = 20 + 2 * u64::from(uuid::Uuid::new_v4().as_bytes()[0]);
        std::thread::sleep(Duration::from_millis(moment));
        let killed = Instant::now();
        stack.process.signal("KILL");
        stack.process.await_exit();
        stop.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().unwrap();
        }
        let answered = answered.lock().unwrap();
        let ages = answered
            .iter()
            .map(|(user, at)| (user.clone(), killed.saturating_duration_since(*at)));
        promised.extend(ages.filter(|(_, age)| *age >= old_enough));
    }
    assert!(promised.len() > rounds, "{} calls", promised.len());
    let last = registering(&upstream, &backend, durability)
        .folder(&folder)
        .start();
    let mut owed = u64::MAX;
    while owed > 0 {
        owed = eventually("the spool gets shorter", || {
            // Its records are those that have been read so far: their number grows first.
            let now = last.operations("/status").json()["spool"]["bytes"].as_u64();
            now.filter(|now| *now == 0 || *now < owed)
        });
    }
    let found = registered(&backend.calls());
    let is_there = |user: &String, pre: bool| found.contains_key(&(pre, user.clone()));
    let missing: Vec<_> = promised
        .iter()
        .filter(|(user, _)| !stages.iter().all(|pre| is_there(user, *pre)))
        .collect();
    let oldest = missing.iter().max_by_key(|(_, age)| *age);
    assert!(
        missing.is_empty(),
        "{} of {} are missing, the oldest {oldest:?}",
        missing.len(),
        promised.len(),
    );
    for ((_, user), exchanges) in found {
        assert_eq!(exchanges.len(), 1, "{user} is one exchange");
    }
}

#[test]
fn contract_11_killed_under_load_every_answered_call_was_on_disk_before_the_upstream() {
    kill_under_load("before_upstream", Duration::ZERO, &[true]);
}

#[test]
fn contract_23_killed_under_load_every_record_older_than_50_ms_arrives() {
    kill_under_load("batched", old_enough(), &[true, false]);
}

#[test]
fn contract_23_told_to_stop_under_load_it_delivers_every_answered_call_before_it_ends() {
    for durability in ["batched", "before_upstream"] {
        let (upstream, backend) = (Upstream::ok(), Backend::start());
        let mut stack = registering(&upstream, &backend, durability).start();
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Answered::default());
        let clients = load(&stack, 0, &stop, &answered);
        eventually("some calls are answered", || {
            (answered.lock().unwrap().len() > 40).then_some(())
        });
        stack.process.signal("TERM");
        for client in clients {
            client.join().unwrap();
        }
        let (status, _) = stack.process.await_exit();
        assert!(status.success(), "{durability}");
        let found = registered(&backend.calls());
        for user in answered.lock().unwrap().keys() {
            for pre in [true, false] {
                let exchanges = found.get(&(pre, user.clone()));
                assert_eq!(exchanges.map(Vec::len), Some(1), "{durability}: {user}");
            }
        }
    }
}

#[test]
fn contract_23_interrupted_while_it_drains_it_ends_in_order_and_loses_no_answered_call() {
    // One call keeps it draining.
    let upstream = Upstream::scripted(|peer| {
        while let Some(request) = peer.read_request() {
            if request.body == HELLO_STREAM.as_bytes() {
                peer.closed_within(PATIENCE);
                return;
            }
            peer.send(json(200, ANSWER));
        }
    });
    let (backend, folder) = (Backend::that(Manner::Hangs), Folder::new());
    let start = || {
        registering(&upstream, &backend, "batched")
            .env("MONITOR_TIMEOUT", "200ms")
            .folder(&folder)
            .start()
    };
    let mut stack = start();
    let held = Request::chat(HELLO_STREAM).header("X-User-Id", "held");
    let _held = held.send(stack.gateway_addr);
    upstream.await_heads(1);
    for number in 0..10 {
        let request = Request::chat(HELLO).header("X-User-Id", &number.to_string());
        assert_eq!(stack.call(&request).status(), 200);
    }
    stack.process.signal("TERM");
    stack.process.await_stderr("it drains", |text| {
        text.contains("stop requested, draining").then_some(())
    });
    stack.process.signal("INT");
    let (status, _) = stack.process.await_exit();
    assert!(status.success(), "{status}: {}", stack.stderr());
    backend.recovers();
    let _next = start();
    eventually("all are there", || {
        let found = registered(&backend.calls());
        let is_there = |number: usize| found.contains_key(&(false, number.to_string()));
        (0..10).all(is_there).then_some(())
    });
}

#[test]
fn contract_23_an_outage_delays_records_and_loses_none() {
    for manner in [Manner::Refuses(500), Manner::Refuses(429), Manner::Hangs] {
        let (upstream, backend) = (Upstream::ok(), Backend::that(manner));
        let folder = Folder::new();
        let start = || {
            registering(&upstream, &backend, "batched")
                .env("MONITOR_TIMEOUT", "200ms")
                .folder(&folder)
                .start()
        };
        let users = |stack: &Stack, range: std::ops::Range<usize>| {
            for number in range {
                let request = Request::chat(HELLO).header("X-User-Id", &number.to_string());
                assert_eq!(stack.call(&request).status(), 200);
            }
        };
        let mut stack = start();
        users(&stack, 0..20);
        // A stop in the middle of the outage, in order this time.
        stack.process.signal("TERM");
        let (status, took) = stack.process.await_exit();
        assert!(
            status.success() && took < Duration::from_secs(10),
            "{manner:?}: {took:?}"
        );
        let stack = start();
        users(&stack, 20..40);
        backend.recovers();
        let found = eventually("all are there", || {
            let found = registered(&backend.calls());
            (found.len() >= 80).then_some(found)
        });
        assert!(
            found.values().all(|exchanges| exchanges.len() == 1),
            "{manner:?}"
        );
        eventually("nothing is owed", || {
            (stack.metric("monitor_spool_records") == 0.0).then_some(())
        });
    }
}

#[test]
fn contract_23_a_backend_that_speaks_nonsense_is_an_outage_too() {
    let upstream = Upstream::ok();
    let nonsense = AtomicBool::new(true);
    let backend = Backend::judging(move |_| match nonsense.swap(false, Ordering::Relaxed) {
        true => b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnonsense!".to_vec(),
        false => support::backend::verdict(&[]),
    });
    let stack = registering(&upstream, &backend, "batched").start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let calls = backend.await_posts(1);
    assert_eq!(
        calls.iter().filter(|call| call.is_pre()).count(),
        2,
        "sent again"
    );
}

#[test]
fn contract_23_a_second_process_on_the_same_spool_does_not_start() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let folder = Folder::new();
    let _first = registering(&upstream, &backend, "batched")
        .folder(&folder)
        .start();
    let (status, stderr) = registering(&upstream, &backend, "batched")
        .folder(&folder)
        .refused();
    assert!(!status.success());
    assert!(stderr.contains("in use by another process"), "{stderr}");
    assert!(stderr.contains("spool.dir"), "{stderr}");
}

#[test]
fn the_spools_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(500)));
    let stack = registering(&upstream, &backend, "before_upstream").start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let folder = stack.data_dir().join("spool");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut segments = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        segments += usize::from(path.extension().is_some_and(|kind| kind == "seg"));
    }
    assert_eq!(segments, 1);
}

/// A small file system in memory; None where this process may not mount one.
pub(crate) struct Small(pub(crate) std::path::PathBuf);

impl Small {
    pub(crate) fn mount(folder: &Folder, size: &str) -> Self {
        let path = folder.path().join("small");
        std::fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(&path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&mounted.stderr);
        assert!(mounted.status.success(), "{said}");
        Self(path)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

#[test]
#[ignore = "needs the right to mount a file system"]
fn contract_23_a_full_disk_costs_no_call_and_no_record_once_it_is_free_again() {
    let folder = Folder::new();
    let disk = Small::mount(&folder, "256k");
    // More than the page that a file of this system may have left.
    let long = format!(
        r#"{{"messages":[{{"role":"user","content":"{}"}}]}}"#,
        "x".repeat(16 << 10)
    );
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(500)));
    let spool = |failure: &str| {
        let dir = disk.0.join(failure);
        format!(
            "spool: {{dir: {}, durability: before_upstream, on_disk_failure: {failure}}}",
            dir.display()
        )
    };
    let builder = || Stack::gateway().upstream(&upstream).monitor(&backend);
    let open = builder().yaml(&spool("open")).start();
    let closed = builder().yaml(&spool("closed")).start();
    assert_eq!(open.call(&Request::chat(&long)).status(), 200);
    let ballast = disk.0.join("ballast");
    // Whatever fits; the rest is refused, which is the point.
    let _ = std::fs::write(&ballast, vec![0; 1 << 20]);
    assert_eq!(
        open.call(&Request::chat(&long)).status(),
        200,
        "open: calls go on"
    );
    eventually("it says so", || {
        (open.metric("monitor_spool_degraded") == 1.0).then_some(())
    });
    // As long as the disk is known to be full no call waits for it: 40 waits would be 80 seconds.
    let begin = Instant::now();
    for _ in 0..40 {
        assert_eq!(open.call(&Request::chat(HELLO)).status(), 200);
    }
    assert!(begin.elapsed() < Duration::from_secs(40));
    let refused = closed.call(&Request::chat(&long));
    assert_eq!(refused.status(), 502);
    assert_envelope(&refused.body, "gateway_error", 502);
    let readyz = open.operations("/readyz");
    assert_eq!(
        (readyz.status(), readyz.text().as_str()),
        (200, "ready, spool degraded\n")
    );
    assert_eq!(open.operations("/status").json()["spool"]["degraded"], true);
    std::fs::remove_file(&ballast).unwrap();
    eventually("it is well again", || {
        (open.metric("monitor_spool_degraded") == 0.0).then_some(())
    });
    assert_eq!(open.operations("/readyz").text(), "ready\n");
    assert_eq!(closed.call(&Request::chat(&long)).status(), 200);
    backend.recovers();
    // 42 answered calls at one, a refused and an answered one at the other.
    let calls = backend.await_posts(44);
    let mut exchanges: Vec<_> = calls
        .iter()
        .filter(|call| call.is_pre())
        .map(|call| call.exchange().to_owned())
        .collect();
    exchanges.sort();
    exchanges.dedup();
    assert_eq!(exchanges.len(), 44);
}

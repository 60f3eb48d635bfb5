//! The configuration read again while calls go on (CONTRACT 35).

use crate::crowd::{Crowd, model};
use std::net::TcpListener;
use support::eventually;
use support::line::{order, signal};
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::tls;
use support::upstream::Upstream;

/// Reloads under load; `MONITOR_RELOADS` asks for more.
const RELOADS: u64 = 100;

fn upstream_at(upstream: &Upstream) -> String {
    format!("upstream: {{url: \"{}\"}}\n", upstream.url())
}

#[test]
fn contract_35_a_reload_puts_another_upstream_in_force_and_says_so_everywhere() {
    let (one, two) = (Upstream::ok(), Upstream::ok());
    let stack = Stack::gateway().yaml(&upstream_at(&one)).start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let before = stack.operations("/status").json();
    assert!(before["reload"].is_null());
    std::fs::write(stack.configuration(), upstream_at(&two)).unwrap();
    let out = order(&stack, "reload", "gateway");
    assert!(out.status.success(), "{out:?}");
    for path in ["/v1/chat/completions", "/v1/embeddings"] {
        let call = Request::post(path, HELLO);
        assert_eq!(stack.call(&call).status(), 200);
    }
    assert_eq!((one.heads(), two.heads()), (1, 2));
    let after = stack.operations("/status").json();
    assert_eq!(after["reload"]["result"], "ok");
    assert_ne!(after["configuration"], before["configuration"]);
    assert_eq!(stack.metric("monitor_reloads_total{result=\"ok\"}"), 1.0);
    assert!(stack.stderr().contains("configuration reloaded"));
}

#[test]
fn contract_35_a_wrong_configuration_changes_nothing_and_says_why() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().yaml(&upstream_at(&upstream)).start();
    let wrong = "upstream: {url: \"http://127.0.0.1:9\", timeout: soon}\n";
    std::fs::write(stack.configuration(), wrong).unwrap();
    let out = order(&stack, "reload", "gateway");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        !out.status.success() && said.contains("upstream.timeout"),
        "{said}"
    );
    signal(stack.process.id() as i32, "HUP");
    eventually("the second failure", || {
        (stack.metric("monitor_reloads_total{result=\"failed\"}") == 2.0).then_some(())
    });
    assert_eq!(
        stack.operations("/status").json()["reload"]["result"],
        "failed"
    );
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    assert_eq!(upstream.heads(), 1);
}

/// What a process says of its last reload, by either way of asking for it.
#[derive(Debug, PartialEq)]
struct Said {
    result: String,
    detail: String,
    configuration: String,
    line: String,
}

#[test]
fn contract_35_a_reload_says_the_same_whoever_asked_for_it() {
    let upstream = Upstream::ok();
    let good = upstream_at(&upstream);
    let wrong = "upstream: {url: \"http://127.0.0.1:9\", timeout: soon}\n".to_owned();
    let broken = "upstream: {url: 5\n".to_owned();
    let waiting = format!("{good}limits: {{threads: 3}}\n");
    let stack = Stack::gateway().yaml(&good).start();
    let process = stack.process.id() as i32;
    let reloads = || {
        ["ok", "failed"]
            .map(|result| stack.metric(&format!("monitor_reloads_total{{result=\"{result}\"}}")))
    };
    let lines = || {
        let stderr = stack.process.stderr();
        let lines = stderr.lines().filter(|line| line.contains("reload"));
        let lines = lines.filter_map(|line| Some(line.split_once(' ')?.1.to_owned()));
        lines.collect::<Vec<_>>()
    };
    for (yaml, [ok, failed]) in [
        (&wrong, [0.0, 1.0]),
        (&broken, [0.0, 1.0]),
        (&good, [1.0, 0.0]),
        (&waiting, [1.0, 0.0]),
    ] {
        std::fs::write(stack.configuration(), yaml).unwrap();
        let said = [true, false].map(|by_command| {
            let (before, known) = (reloads(), lines().len());
            match by_command {
                true => assert_eq!(
                    order(&stack, "reload", "gateway").status.success(),
                    ok == 1.0
                ),
                false => signal(process, "HUP"),
            }
            let expected = [before[0] + ok, before[1] + failed];
            eventually("the reload is counted", || {
                (reloads() == expected).then_some(())
            });
            let line = eventually("the reload is logged", || lines().get(known).cloned());
            let status = stack.operations("/status").json();
            let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
            Said {
                result: text(&status["reload"]["result"]),
                detail: text(&status["reload"]["detail"]),
                configuration: text(&status["configuration"]),
                line,
            }
        });
        assert_eq!(said[0], said[1]);
        let result = if ok == 1.0 { "ok" } else { "failed" };
        assert_eq!(said[0].result, result);
        assert!(said[0].line.contains(&said[0].detail), "{:?}", said[0]);
    }
}

#[test]
fn contract_35_what_only_a_new_process_can_change_is_named() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().yaml(&upstream_at(&upstream)).start();
    let text = format!(
        "{}limits: {{threads: 3, idle_timeout: 20s}}\nshutdown: {{grace: 7s}}\n",
        upstream_at(&upstream)
    );
    std::fs::write(stack.configuration(), text).unwrap();
    for _ in 0..2 {
        // The second time too: it still is not in force.
        let out = order(&stack, "reload", "gateway");
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(out.status.success());
        assert!(said.contains("limits.threads, shutdown"), "{said}");
        assert!(said.contains("monitor upgrade"), "{said}");
    }
}

#[test]
fn contract_35_what_the_analysis_keeps_is_named_as_its_file_has_it() {
    for (stack, indent, role, prefix) in [
        (Stack::analysis_server(), "", "analysis", ""),
        (Stack::all(), "  ", "all", "analysis."),
    ] {
        let line = |rate: u32| format!("{indent}limits: {{requests_per_second: {rate}}}");
        let stack = stack.yaml(&line(60)).start();
        let given = std::fs::read_to_string(stack.configuration()).unwrap();
        let wanted = given.replace(&line(60), &format!("{}\n{indent}max_body: 3MiB", line(70)));
        std::fs::write(stack.configuration(), wanted).unwrap();
        let out = order(&stack, "reload", role);
        let said = String::from_utf8_lossy(&out.stdout).into_owned();
        for key in ["max_body", "limits"] {
            assert!(said.contains(&format!(" {prefix}{key},")), "{said}");
        }
    }
}

#[test]
fn contract_35_reloads_under_load_fail_no_call() {
    let upstream = model();
    let text = upstream_at(&upstream);
    let stack = Stack::gateway().yaml(&text).start();
    let crowd = Crowd::start(stack.gateway_addr);
    let reloads = std::env::var("MONITOR_RELOADS").map_or(RELOADS, |text| text.parse().unwrap());
    let path = stack.data_dir().join("control-gateway.sock");
    for round in 0..reloads {
        let varied = format!("{text}stream: {{heartbeat: {}s}}\n", 30 + round % 5);
        std::fs::write(stack.configuration(), varied).unwrap();
        let mut control = std::os::unix::net::UnixStream::connect(&path).unwrap();
        std::io::Write::write_all(&mut control, b"reload\n").unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(&mut control, &mut said).unwrap();
        assert!(said.starts_with("ok: "), "{said}");
    }
    let (calls, streams) = crowd.end();
    eprintln!("{reloads} reloads, {calls} calls, {streams} streams, none failed");
    assert!(calls > 0 && streams > 0);
    assert_eq!(
        stack.metric("monitor_reloads_total{result=\"ok\"}"),
        reloads as f64
    );
}

#[test]
fn contract_35_policies_of_the_file_change_with_it() {
    let upstream = Upstream::ok();
    let id = "57100000-0000-4000-8000-000000000002";
    let listed = |failure: &str| {
        let policy = format!("name: a, app_mode: sync, phrase: no, on_backend_failure: {failure}");
        let list = format!("applications:\n  - {{id: {id}, {policy}}}\n");
        upstream_at(&upstream) + &list
    };
    let stack = Stack::gateway().yaml(&listed("open")).start();
    let call = Request::chat(HELLO).header("X-Application-Id", id);
    assert_eq!(stack.call(&call).status(), 200);
    std::fs::write(stack.configuration(), listed("closed")).unwrap();
    assert!(order(&stack, "reload", "gateway").status.success());
    // There is no backend that could be asked (CONTRACT 13).
    eventually("the new policy holds", || {
        (stack.call(&call).status() == 502).then_some(())
    });
}

#[test]
fn contract_35_a_certificate_changes_without_a_restart() {
    let upstream = Upstream::ok();
    let folder = Folder::new();
    let (one, two) = (tls::Identity::new(), tls::Identity::new());
    let put = |identity: &tls::Identity| {
        let cert = folder.write("cert.pem", &identity.cert_pem);
        (cert, folder.write("key.pem", &identity.key_pem))
    };
    let (cert, key) = put(&one);
    let port = support::fault::free_port();
    let yaml = format!(
        "{}listen:\n  - {{address: \"127.0.0.1:{port}\", tls: {{cert: \"{}\", key: \"{}\"}}}}\n",
        upstream_at(&upstream),
        cert.display(),
        key.display()
    );
    let plain = support::fault::free_port();
    let yaml = format!("{yaml}  - 127.0.0.1:{plain}\n");
    let stack = Stack::gateway()
        .yaml(&yaml)
        .listening_by_yaml(plain)
        .folder(&folder)
        .start();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let trusts = |identity: &tls::Identity| {
        let connecting = || identity.connect(address, &["http/1.1"]);
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(connecting)).is_ok()
    };
    assert!(trusts(&one) && !trusts(&two));
    put(&two);
    assert!(order(&stack, "reload", "gateway").status.success());
    assert!(trusts(&two) && !trusts(&one));
    // One that cannot be read keeps the last good one.
    std::fs::write(&cert, "nothing").unwrap();
    assert!(!order(&stack, "reload", "gateway").status.success());
    assert!(trusts(&two));
}

#[test]
fn a_hangup_during_the_start_ends_no_process() {
    // A database that takes connections and answers nothing: the start waits for it, with an open port.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .yaml(&format!(
            "store: {{host: 127.0.0.1, port: {port}, db: d, user: u, password: p, ssl: false}}"
        ))
        .under("(sleep 1; kill -HUP $$; sleep 1; kill -HUP $$) & true")
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    signal(stack.process.id() as i32, "HUP");
    let series = "monitor_reloads_total{result=\"ok\"}";
    eventually("it reloads once it serves", || {
        (stack.metric(series) == 1.0).then_some(())
    });
}

//! The access log as JSON lines (CONTRACT 34 `log`): one line per call, of which nothing is secret, off
//! the call's path, reopened for logrotate and whole after a stop.

use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use support::backend::{Backend, verdict};
use support::eventually;
use support::line::order;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{ANSWER, DONE, Upstream, delta};

const APPLICATION: &str = "57100000-0000-4000-8000-000000000007";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn logging_to(path: &Path, more: &str) -> Builder {
    let path = path.display();
    Stack::gateway().yaml(&format!(
        "log: {{access: {{to: file, file: \"{path}\"{more}}}}}"
    ))
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[track_caller]
fn await_lines(path: &Path, count: usize) -> Vec<Value> {
    eventually("the lines of the access log", || {
        let lines = lines(path);
        (lines.len() >= count).then_some(lines)
    })
}

fn folder() -> (Arc<Folder>, std::path::PathBuf) {
    let folder = Folder::new();
    let path = folder.path().join("access.log");
    (folder, path)
}

#[test]
fn contract_34_every_call_has_one_line_that_says_what_it_was() {
    let (_folder, path) = folder();
    let upstream = Upstream::ok();
    let stack = logging_to(&path, "").upstream(&upstream).start();
    let call = Request::chat(HELLO)
        .header("X-Request-Id", "call-1")
        .header("X-Application-Id", APPLICATION)
        .header("Authorization", "Bearer sk-s3cret")
        .header("traceparent", PARENT);
    assert_eq!(stack.call(&call).status(), 200);
    assert_eq!(
        stack.call(&Request::get("/v1/models?key=s3cret")).status(),
        200
    );
    assert_eq!(
        stack.call(&Request::chat(HELLO).without_key()).status(),
        401
    );
    // Each line is written once its connection has nothing more to read.
    await_lines(&path, 3);
    assert_eq!(stack.call(&Request::new("BREW", "/s3cret")).status(), 404);
    let lines = await_lines(&path, 4);
    let first = &lines[0];
    for (name, value) in [
        ("request_id", Value::from("call-1")),
        ("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736".into()),
        ("client", "127.0.0.1".into()),
        ("method", "POST".into()),
        ("route", "chat".into()),
        ("application", APPLICATION.into()),
        ("mode", "async".into()),
        ("model", "test-model".into()),
        ("status", 200.into()),
        ("outcome", "ok".into()),
        ("detail", Value::Null),
        ("bytes_in", HELLO.len().into()),
        ("bytes_out", ANSWER.len().into()),
    ] {
        assert_eq!(first[name], value, "{name} of {first}");
    }
    for name in [
        "total_ms",
        "first_byte_ms",
        "upstream_ms",
        "backend_ms",
        "overhead_ms",
    ] {
        assert!(first[name].is_number(), "{name} of {first}");
    }
    assert!(first["upstream_ms"].as_f64() <= first["total_ms"].as_f64());
    assert!(first["time"].as_str().unwrap().ends_with('Z'));
    let second = &lines[1];
    assert_eq!(
        (&second["route"], &second["mode"]),
        (&"models".into(), &Value::Null)
    );
    assert!(
        second["upstream_ms"].is_null(),
        "nobody measures it: {second}"
    );
    assert_eq!(lines[2]["detail"], "access_key");
    assert_eq!(
        (&lines[3]["method"], &lines[3]["route"]),
        (&"_OTHER".into(), &"other".into())
    );
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    assert!(!stack.stderr().contains("route=chat"), "one line is enough");
}

#[test]
fn contract_34_the_file_is_readable_by_the_services_group_whatever_its_mask() {
    use std::os::unix::fs::PermissionsExt;
    let ((_folder, path), upstream) = (folder(), Upstream::ok());
    let stack = logging_to(&path, "").upstream(&upstream);
    // As the units have it.
    let stack = stack.under("umask 077").start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    await_lines(&path, 1);
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o640);
    // One that is there is left as it is.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(mode(), 0o600);
}

#[test]
fn contract_34_the_mode_the_block_and_the_wait_for_the_verdict_show() {
    let (_folder, path) = folder();
    let upstream = Upstream::ok();
    let backend = Backend::judging(|_| verdict(&["dataclean"]));
    let stack = logging_to(&path, ", client_address: false")
        .yaml(&format!(
            "applications:\n- {{id: {APPLICATION}, app_mode: sync, phrase: no}}"
        ))
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    let call = Request::chat(HELLO).header("X-Application-Id", APPLICATION);
    assert_eq!(stack.call(&call).status(), 200);
    let line = &await_lines(&path, 1)[0];
    assert_eq!(
        (&line["mode"], &line["outcome"], &line["detail"]),
        (&"sync".into(), &"blocked".into(), &"dataclean".into())
    );
    assert!(line["backend_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(line["upstream_ms"], 0.0, "it was not called");
    assert!(line["client"].is_null(), "log.access.client_address");
}

#[test]
fn what_the_client_chose_is_bounded_and_cannot_break_a_line() {
    let (_folder, path) = folder();
    let upstream = Upstream::ok();
    let stack = logging_to(&path, "").upstream(&upstream).start();
    let model = format!("m\\n\\u001b[31m\\\"{}", "я".repeat(10_000));
    let body = HELLO.replace("test-model", &model);
    let call = Request::chat(body).header("X-Application-Id", "sk-s3cret is no id");
    assert_eq!(stack.call(&call).status(), 200);
    let line = &await_lines(&path, 1)[0];
    let told = line["model"].as_str().unwrap();
    assert!(
        told.starts_with("m\n\u{1b}[31m\"я") && told.len() <= 128,
        "{told}"
    );
    assert!(line["application"].is_null());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("s3cret") && !text.contains('\u{1b}'));
}

#[test]
fn lines_go_to_standard_output_where_that_is_wanted() {
    let upstream = Upstream::sse(&[&delta(0, "x"), DONE]);
    let stack = Stack::gateway()
        .yaml("log: {access: {to: stdout}}")
        .upstream(&upstream)
        .start();
    let answer = stack.call(&Request::chat(HELLO_STREAM));
    let line = stack.process.await_stdout("the call's line", |text| {
        let line = text.lines().find(|line| line.starts_with('{'))?;
        serde_json::from_str::<Value>(line).ok()
    });
    assert_eq!(line["bytes_out"], answer.body.len());
    assert_eq!(line["status"], 200);
}

#[test]
fn contract_35_a_reload_reopens_the_file_and_can_turn_the_log_on_and_off() {
    let (folder, path) = folder();
    let upstream = Upstream::ok();
    let stack = logging_to(&path, "").upstream(&upstream).start();
    let call = |id: &str| {
        let call = Request::chat(HELLO).header("X-Request-Id", id);
        assert_eq!(stack.call(&call).status(), 200);
    };
    call("before");
    await_lines(&path, 1);
    let rotated = folder.path().join("access.log.1");
    std::fs::rename(&path, &rotated).unwrap();
    call("moved");
    await_lines(&rotated, 2);
    stack.process.signal("HUP");
    eventually("the reload", || {
        (stack.metric("monitor_reloads_total{result=\"ok\"}") == 1.0).then_some(())
    });
    call("after");
    let ids = |path: &Path| -> Vec<Value> {
        let lines = lines(path).into_iter();
        lines.map(|mut line| line["request_id"].take()).collect()
    };
    await_lines(&path, 1);
    assert_eq!((ids(&path), ids(&rotated).len()), (vec!["after".into()], 2));
    // One that cannot be written keeps the one before.
    let wrong = format!(
        "log: {{access: {{to: file, file: \"{}/no/a.log\"}}}}\n",
        folder.path().display()
    );
    std::fs::write(stack.configuration(), wrong).unwrap();
    let out = order(&stack, "reload", "gateway");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        !out.status.success() && said.contains("log.access.file"),
        "{said}"
    );
    call("still");
    await_lines(&path, 2);
    std::fs::write(stack.configuration(), "log: {level: info}\n").unwrap();
    assert!(order(&stack, "reload", "gateway").status.success());
    call("off");
    eventually("the short line", || {
        stack.stderr().contains("request_id=off").then_some(())
    });
    assert_eq!(lines(&path).len(), 2);
}

#[test]
fn a_stop_writes_what_is_queued_and_nothing_is_lost() {
    let (_folder, path) = folder();
    let upstream = Upstream::ok();
    let mut stack = logging_to(&path, "").upstream(&upstream).start();
    for number in 0..200 {
        let id = format!("call-{number}");
        let call = Request::chat(HELLO).header("X-Request-Id", &id);
        assert_eq!(stack.call(&call).status(), 200);
    }
    assert_eq!(
        stack.metric("monitor_access_log_lost_total{reason=\"queue\"}"),
        0.0
    );
    stack.process.signal("TERM");
    stack.process.await_exit();
    assert_eq!(lines(&path).len(), 200);
}

#[test]
fn a_disk_that_refuses_costs_lines_counted_and_no_call() {
    // /dev/full takes every open and no write.
    let upstream = Upstream::ok();
    let stack = logging_to(Path::new("/dev/full"), "")
        .upstream(&upstream)
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    eventually("the lost line is counted", || {
        (stack.metric("monitor_access_log_lost_total{reason=\"disk\"}") == 1.0).then_some(())
    });
    stack.process.await_stderr("the log line", |text| {
        let said = "access log lines lost";
        text.contains(said).then_some(())
    });
}

#[test]
fn whoever_reads_standard_error_may_stall_and_no_call_waits_for_it() {
    let (folder, upstream) = (Folder::new(), Upstream::ok());
    let pipe = folder.path().join("stalled");
    // Standard error is a pipe that nobody reads, and soon full.
    let stalled = format!("mkfifo {0} && exec 2<>{0}", pipe.display());
    let queue = "log: {access: {queue: 100}}";
    let stack = Stack::gateway().upstream(&upstream).yaml(queue);
    let stack = stack.under(&stalled).start();
    let mut conn = Request::chat(HELLO).send(stack.gateway_addr);
    assert_eq!(conn.response().status(), 200);
    eventually("lines find no room", || {
        for _ in 0..100 {
            conn.send(&Request::chat(HELLO).bytes());
            assert_eq!(conn.response().status(), 200);
        }
        let lost = stack.metric("monitor_access_log_lost_total{reason=\"queue\"}");
        (lost > 100.0).then_some(())
    });
}

#[test]
fn whoever_reads_standard_error_may_stall_and_no_warning_waits_for_it() {
    let (folder, upstream) = (Folder::new(), Upstream::ok());
    let pipe = folder.path().join("stalled");
    // A pipe that nobody reads and that is full before the first line.
    let filled = "if=/dev/zero bs=4096 count=1024 oflag=nonblock 2>/dev/null";
    let stalled = format!(
        "mkfifo {0} && exec 2<>{0} && {{ dd of={0} {filled} || true; }}",
        pipe.display()
    );
    let stack = Stack::gateway().upstream(&upstream);
    let yaml = "log: {level: debug}\nmonitor: {url: \"http://127.0.0.1:9\"}";
    let mut stack = stack.yaml(yaml).under(&stalled).start();
    let mut conn = Request::chat(HELLO).send(stack.gateway_addr);
    assert_eq!(conn.response().status(), 200);
    for _ in 0..200 {
        conn.send(&Request::chat(HELLO).bytes());
        assert_eq!(conn.response().status(), 200);
        let refused = Request::chat("no JSON").call(stack.gateway_addr);
        assert_eq!(refused.status(), 400);
    }
    stack.process.signal("TERM");
    assert!(stack.process.await_exit().0.success());
}

#[test]
fn contract_33_a_file_without_a_place_and_a_place_without_a_file_are_refused() {
    for (yaml, said) in [
        ("log: {access: {to: file}}", "log.access.file"),
        ("log: {access: {file: /tmp/a.log}}", "log.access.file"),
        ("log: {access: {to: syslog}}", "log.access.to"),
        ("log: {access: {to: stdout, queue: 0}}", "log.access.queue"),
    ] {
        let upstream = Upstream::ok();
        let (status, stderr) = Stack::gateway().upstream(&upstream).yaml(yaml).refused();
        assert_eq!(status.code(), Some(2));
        assert!(stderr.contains(said), "{yaml}: {stderr}");
    }
    let yaml = "log: {access: {to: file, file: /proc/none/a.log}}";
    let (status, stderr) = Stack::gateway()
        .upstream(&Upstream::ok())
        .yaml(yaml)
        .refused();
    assert!(
        !status.success() && stderr.contains("/proc/none/a.log"),
        "{stderr}"
    );
}

#[test]
fn contract_34_a_level_can_be_set_for_one_module() {
    // `log.level` takes levels of modules and targets beside the common one.
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .yaml("log: {level: 'error,access=info'}")
        .upstream(&upstream)
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    stack.process.await_stderr("the call's line", |text| {
        text.contains("route=chat").then_some(())
    });
    std::fs::write(stack.configuration(), "log: {level: 'info,access=off'}\n").unwrap();
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(stack.call(&Request::get("/v1/models")).status(), 200);
    stack.process.await_stderr("the reload's line", |text| {
        text.contains("configuration reloaded").then_some(())
    });
    assert!(!stack.stderr().contains("route=models"));
}

#[test]
fn a_line_names_the_entry_of_upstreams_that_was_called() {
    let (_folder, path) = folder();
    let (rest, claude) = (Upstream::ok(), Upstream::ok());
    let url = claude.url();
    let entry = format!("{{name: anthropic, models: [\"claude-*\"], url: \"{url}\"}}");
    let logging = logging_to(&path, "").yaml(&format!("upstreams: [{entry}]"));
    let stack = logging.upstream(&rest).start();
    let call = Request::chat(HELLO.replace("test-model", "claude-3"));
    for (call, status) in [
        (call.clone(), 200),
        (Request::chat(HELLO), 200),
        (call.without_key(), 401),
    ] {
        assert_eq!(stack.call(&call).status(), status);
    }
    let lines = await_lines(&path, 3);
    let shown: Vec<&Value> = lines.iter().map(|line| &line["upstream"]).collect();
    assert_eq!(
        shown,
        [&Value::from("anthropic"), &Value::Null, &Value::Null]
    );
    assert_eq!(lines[0]["model"], "claude-3");
    assert_eq!((rest.heads(), claude.heads()), (1, 1));
}

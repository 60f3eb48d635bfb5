//! `monitor health`: the probe of containers that have no shell.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use support::eventually;
use support::fault::refusing_address;
use support::http::Conn;
use support::line::signal;
use support::process::Process;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

fn health(stack: &Stack, arguments: &[&str]) -> Output {
    Command::new(support::monitor())
        .arg("health")
        .args(arguments)
        .env_clear()
        .env("MONITOR_DATA_DIR", stack.data_dir())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// It failed with one line, which says this.
#[track_caller]
fn assert_unwell(output: &Output, part: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(part), "{said}");
    assert_eq!(
        (said.lines().count(), output.stdout.len()),
        (1, 0),
        "{said}"
    );
}

#[test]
fn each_role_is_found_by_its_data_folder_and_is_ready() {
    let upstream = Upstream::ok();
    for stack in [
        Stack::all().start(),
        Stack::before(&upstream),
        Stack::analysis_server().start(),
    ] {
        for (arguments, said) in [(&[][..], "ready\n"), (&["--live"], "ok\n")] {
            let asked = health(&stack, arguments);
            assert_eq!(asked.status.code(), Some(0), "{}", text(&asked.stderr));
            assert_eq!(text(&asked.stdout), said);
        }
        let livez = format!("http://{}/livez", stack.operations_addr);
        assert_eq!(text(&health(&stack, &[&livez]).stdout), "ok\n");
    }
}

#[test]
fn a_listener_on_every_address_is_asked_on_loopback() {
    let folder = Folder::new();
    let monitor = |command: &str| {
        let mut monitor = Command::new(support::monitor());
        monitor
            .arg(command)
            .env_clear()
            .env("GATEWAY_LISTEN", "127.0.0.1:0")
            .env("OPERATIONS_LISTEN", "0.0.0.0:0")
            .env("UPSTREAM_URL", format!("http://{}", refusing_address()))
            .env("MONITOR_DATA_DIR", folder.path());
        monitor
    };
    let _process = Process::start(&mut monitor("gateway"));
    eventually("it is found and ready", || {
        let asked = monitor("health").output().unwrap();
        (text(&asked.stdout) == "ready\n").then_some(())
    });
}

#[test]
fn a_wrong_path_a_refused_connection_and_a_silent_server_are_told_apart() {
    let upstream = Upstream::ok();
    let mut stack = Stack::before(&upstream);
    let missing = format!("http://{}/none", stack.operations_addr);
    assert_unwell(&health(&stack, &[&missing]), "/none: 404");
    let refused = format!("http://{}/readyz", refusing_address());
    let asked = health(&stack, &[&refused]);
    assert_unwell(&asked, &format!("asking {refused} failed"));
    assert_unwell(&asked, "refused");
    assert_unwell(&health(&stack, &["https://127.0.0.1/"]), "only http");
    // It accepts and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/readyz", silent.local_addr().unwrap());
    let asked = health(&stack, &[&address, "--timeout", "1"]);
    assert_unwell(&asked, "did not answer within 1s");
    signal(stack.process.id() as i32, "TERM");
    stack.process.await_exit();
    assert_unwell(&health(&stack, &[]), "no running monitor found");
    let usage = health(&stack, &["--timeout", "soon"]);
    assert_eq!(usage.status.code(), Some(2));
}

#[test]
fn a_process_that_drains_is_live_and_not_ready() {
    let upstream = Upstream::ok();
    let stack = Stack::gateway().upstream(&upstream);
    let stack = stack.yaml("shutdown: {min_drain: 120s}").start();
    signal(stack.process.id() as i32, "TERM");
    let address = |path: &str| format!("http://{}{path}", stack.operations_addr);
    let ready = address("/readyz");
    eventually("it drains", || {
        let asked = health(&stack, &[&ready]);
        (!asked.status.success()).then(|| assert_unwell(&asked, "/readyz: 503 draining"))
    });
    assert_eq!(text(&health(&stack, &[&address("/livez")]).stdout), "ok\n");
}

/// Fills the queue of a listening socket: what a probe a minute does to a process that is stopped for long.
fn fill(socket: &Path) {
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with,
    };
    let address = SocketAddrUnix::new(socket).unwrap();
    let kind = (AddressFamily::UNIX, SocketType::STREAM);
    let is_full = (0..100_000).any(|_| {
        let probe = socket_with(kind.0, kind.1, SocketFlags::NONBLOCK, None).unwrap();
        connect(&probe, &address).is_err()
    });
    assert!(is_full, "the queue of {} has no end", socket.display());
}

#[test]
fn a_stopped_process_is_unwell_within_the_time_however_often_it_is_asked() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    signal(stack.process.id() as i32, "STOP");
    for role in [
        &["--timeout", "1"][..],
        &["--timeout", "1", "--role", "gateway"],
    ] {
        assert_unwell(&health(&stack, role), "within 1s");
    }
    let address = format!("http://{}/readyz", stack.operations_addr);
    let asked = health(&stack, &["--timeout", "1", &address]);
    assert_unwell(&asked, "did not answer within 1s");
    fill(&stack.data_dir().join("control-gateway.sock"));
    let asked = health(&stack, &["--timeout", "1"]);
    assert_unwell(&asked, "monitor gateway with the data folder");
    signal(stack.process.id() as i32, "CONT");
    eventually("it is well again", || {
        (text(&health(&stack, &[]).stdout) == "ready\n").then_some(())
    });
}

#[test]
fn an_address_is_asked_alone_and_no_password_of_it_is_shown() {
    let stack = Stack::all().start();
    let port = stack.operations_addr.port();
    for (address, why) in [
        (
            format!("http://u:hidden@127.0.0.1:{port}/readyz"),
            "a user name or a password",
        ),
        (
            format!("https://u:hidden@127.0.0.1:{port}/readyz"),
            "only http",
        ),
        ("http://u:hidden@:0:0/".to_owned(), "the address is no URL"),
    ] {
        let asked = health(&stack, &[&address]);
        assert_unwell(&asked, why);
        assert!(
            !text(&asked.stderr).contains("hidden"),
            "{}",
            text(&asked.stderr)
        );
    }
    let query = format!("http://{}/none?token=hidden", stack.operations_addr);
    let asked = health(&stack, &[&query]);
    assert_unwell(&asked, "/none: 404");
    assert!(!text(&asked.stderr).contains("hidden"));
    let readyz = format!("http://{}/readyz", stack.operations_addr);
    for argument in ["--config=a.yaml", "--data-dir=a", "--role=all"] {
        let usage = health(&stack, &[&readyz, argument]);
        assert_eq!(usage.status.code(), Some(2), "{argument}");
        let said = text(&usage.stderr);
        assert!(said.contains("cannot be used with"), "{said}");
    }
    assert_eq!(text(&health(&stack, &[&readyz]).stdout), "ready\n");
}

#[test]
fn one_address_does_not_take_all_places_of_the_operations_listener() {
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let open: Vec<_> = (0..130)
        .map(|_| {
            let mut conn = Conn::open(stack.operations_addr);
            // It may be closed at once.
            let _ = conn.try_send(b"GET /livez HTTP/1.1\r\n");
            conn
        })
        .collect();
    let another = Conn::open_from("127.0.0.2", stack.operations_addr);
    let mut another = another.patient(Duration::from_secs(2));
    another.send(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(another.response().status(), 200);
    drop(open);
}

//! `monitor health`: the probe of containers that have no shell.

use std::net::TcpListener;
use std::process::{Command, Output};
use support::eventually;
use support::fault::refusing_address;
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
fn a_process_that_is_not_ready_gone_or_silent_is_unwell() {
    let upstream = Upstream::ok();
    let mut stack = Stack::before(&upstream);
    let missing = format!("http://{}/none", stack.operations_addr);
    assert_unwell(&health(&stack, &[&missing]), "/none: 404");
    let refused = format!("http://{}/readyz", refusing_address());
    assert_unwell(&health(&stack, &[&refused]), &refused);
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

//! `monitor token …` on the store of a running server (CONTRACT 30, 32): what it does is live there.

use crate::admin_world::{expect, registers};
use serde_json::{Value, json};
use std::process::Command;
use support::eventually;
use support::request::Request;
use support::stack::{Folder, Stack};

/// Runs a command over this data folder, without any setting of the service; its exit code, stdout and stderr.
fn monitor(data: &str, command: &str, args: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_monitor"))
        .env_clear()
        .arg(command)
        .args(args)
        .args(["--data-dir", data])
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

struct World {
    stack: Stack,
    data: String,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        let data = folder.path().join("data").display().to_string();
        Self {
            stack: Stack::all().folder(&folder).start(),
            data,
        }
    }

    /// Runs `monitor token` and gives its exit code, stdout and stderr.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        self.monitor("token", args)
    }

    fn monitor(&self, command: &str, args: &[&str]) -> (i32, String, String) {
        monitor(&self.data, command, args)
    }

    #[track_caller]
    fn done(&self, args: &[&str]) -> String {
        let (code, stdout, stderr) = self.run(args);
        assert_eq!(code, 0, "{stderr}");
        stdout
    }

    fn registers(&self, key: &str) -> u16 {
        registers(&self.stack, key, &self.stack.application_id())
    }
}

#[test]
fn a_key_made_rotated_and_revoked_on_the_command_line_is_so_at_the_server() {
    // CONTRACT 30, 32.
    let world = World::new();
    let key = world.done(&["create", "--name", "shell", "--expires", "90d"]);
    let key = key.trim();
    assert_eq!(world.registers(key), 200);
    let list: Value = serde_json::from_str(&world.done(&["list", "--json"])).unwrap();
    let made = list
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["name"] == "shell")
        .unwrap();
    let lifetime =
        made["expires_at_ms"].as_i64().unwrap() - made["created_at_ms"].as_i64().unwrap();
    assert_eq!(
        (lifetime, &made["scopes"]),
        (90 * 86_400_000, &json!(["ingest"]))
    );
    let rotated: Value = serde_json::from_str(&world.done(&[
        "rotate",
        made["id"].as_str().unwrap(),
        "--grace",
        "1h",
        "--json",
    ]))
    .unwrap();
    let new = rotated["value"].as_str().unwrap();
    assert_eq!((world.registers(key), world.registers(new)), (200, 200));
    let table = world.done(&["revoke", rotated["id"].as_str().unwrap()]);
    assert!(table.contains("revoked") && !table.contains(new), "{table}");
    eventually("the server knows", || {
        (world.registers(new) == 401).then_some(())
    });
    assert_eq!(world.registers(key), 200);
    let audit = expect(&world.stack, 200, ("GET", "/audit"), Value::Null);
    let said: Vec<_> = audit["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| {
            (
                line["action"].as_str().unwrap(),
                line["actor"].as_str().unwrap(),
                line["token_id"].clone(),
            )
        })
        .collect();
    let line = |action| (action, "command line", Value::Null);
    assert_eq!(
        said,
        [
            line("token.revoke"),
            line("token.rotate"),
            line("token.create")
        ]
    );
}

#[test]
fn a_person_who_is_locked_out_gets_a_link_on_the_command_line() {
    // CONTRACT 32; the link is that of the page of users.
    let world = World::new();
    let (code, link, note) = world.monitor("user", &["link", " Admin"]);
    assert_eq!(code, 0);
    for part in ["the running process", "analysis.ui.public_url"] {
        assert!(note.contains(part), "{note}");
    }
    // The command does not know the ports of the service: it asks.
    let base = format!("http://{}/", world.stack.analysis_addr);
    let path = link.trim().strip_prefix(&base);
    let path = path.unwrap_or_else(|| panic!("{} not at {base}", link.trim()));
    let shown = Request::get(&format!("/{path}")).without_key();
    assert_eq!(shown.call(world.stack.analysis_addr).status(), 200);
    let (code, stdout, stderr) = world.monitor("user", &["link", "nobody"]);
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.contains("no account has this name"), "{stderr}");
    assert!(stderr.contains("monitor.db"), "where it looked: {stderr}");
    let audit = expect(&world.stack, 200, ("GET", "/audit"), Value::Null);
    let line = &audit["entries"][0];
    assert_eq!(line["action"], "account.link");
    assert_eq!(line["actor"], "command line");
    assert!(!audit.to_string().contains(path.rsplit('/').next().unwrap()));
}

#[test]
fn a_link_has_the_public_address_of_the_running_process_and_else_a_note() {
    let folder = Folder::new();
    let data = folder.path().join("data").display().to_string();
    let stack = Stack::all().folder(&folder);
    let stack = stack.yaml("  ui: {public_url: \"https://monitor.example\"}");
    let stack = stack.start();
    let (code, link, note) = monitor(&data, "user", &["link", "admin"]);
    assert_eq!((code, note.as_str()), (0, ""));
    assert!(
        link.starts_with("https://monitor.example/ui/link/"),
        "{link}"
    );
    drop(stack);
    let (code, link, note) = monitor(&data, "user", &["link", "admin"]);
    assert_eq!(code, 0);
    assert!(link.starts_with("http://127.0.0.1:4200/ui/link/"), "{link}");
    for part in ["no process runs", &*data, "ANALYSIS_LISTEN"] {
        assert!(note.contains(part), "{note}");
    }
}

#[test]
fn without_the_environment_of_the_service_no_store_is_made_and_what_to_give_is_said() {
    let folder = Folder::new();
    let data = folder.path().join("data");
    let mut command = Command::new(support::monitor());
    command
        .env_clear()
        .args(["user", "link", "admin", "--data-dir"]);
    let said = command.arg(&data).output().unwrap();
    assert_eq!((said.status.code(), said.stdout.len()), (Some(1), 0));
    let stderr = String::from_utf8(said.stderr).unwrap();
    let shown = data.join("monitor.db").display().to_string();
    for part in [
        &*shown,
        "--config FILE (MONITOR_CONFIG)",
        "--data-dir DIR (MONITOR_DATA_DIR)",
        "STORE_HOST",
        "/etc/monitor/all.yaml and all.env",
    ] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert!(!data.exists(), "nothing is made");
}

#[test]
fn the_table_shows_what_a_key_may_do_and_never_its_value() {
    // CONTRACT 30, 32.
    let world = World::new();
    let application = world.stack.application_id();
    let key = world.done(&[
        "create",
        "--name",
        "bound bot",
        "--scope",
        "read,admin",
        "--application",
        &application,
    ]);
    let table = world.done(&["list", "--application", &application]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 2, "{table}");
    assert!(
        lines[0].starts_with("ID ") && lines[0].ends_with(" NAME"),
        "{table}"
    );
    for part in ["valid", "read,admin", &application, "never", "bound bot"] {
        assert!(lines[1].contains(part), "{part} in {table}");
    }
    assert!(!table.contains(key.trim()));
}

#[test]
fn what_cannot_be_done_says_why() {
    // CONTRACT 30, 32.
    let world = World::new();
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (args, code, words) in [
        (&["revoke", unknown][..], 1, "not found"),
        (&["rotate", unknown], 1, "not found"),
        (
            &["create", "--name", "x", "--application", unknown],
            1,
            "application_id: no application has this id",
        ),
        (&["create", "--name", "x", "--expires", "soon"], 2, "90d"),
        (
            &["create", "--name", "x", "--expires", "0"],
            1,
            "expires_in: must be longer than zero",
        ),
        (&["revoke", "x"], 2, "invalid value"),
    ] {
        let (found, stdout, stderr) = world.run(args);
        assert_eq!((found, stdout.as_str()), (code, ""), "{args:?}: {stderr}");
        assert!(stderr.contains(words), "{args:?}: {stderr}");
    }
}

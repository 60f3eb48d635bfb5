//! Records that wait in a spool, encrypted or not, are in the backup and are delivered after it was restored, under
//! the numbers that they have.

use super::{arg, monitor};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use support::backend::{Backend, Manner};
use support::eventually;
use support::request::{HELLO, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::Upstream;

const CALLS: usize = 3;

/// A data folder whose spool owes records, and whose store is empty.
fn owing(folder: &Arc<Folder>, configured: impl Fn(Builder) -> Builder) -> PathBuf {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(500)));
    let gateway = Stack::gateway().upstream(&upstream).monitor(&backend);
    let mut stack = configured(gateway).folder(folder).start();
    for _ in 0..CALLS {
        assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    }
    eventually("they are in the spool", || {
        let status = stack.operations("/status").json();
        (status["spool"]["records"] == 2 * CALLS).then_some(())
    });
    let data = stack.data_dir();
    // Everything is on disk when it has ended.
    stack.process.signal("TERM");
    stack.process.await_exit();
    monitor(&["migrate"], &data, None).done();
    data
}

/// The exchanges of a spool's records, as its backend gets them from a gateway over a restored folder.
fn delivered(folder: &Arc<Folder>, configured: impl Fn(Builder) -> Builder) -> Vec<String> {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let gateway = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = configured(gateway).folder(folder).start();
    let calls = eventually("the restored records arrive", || {
        let calls = backend.calls();
        (calls.len() >= 2 * CALLS).then_some(calls)
    });
    let chains: Vec<_> = calls
        .iter()
        .map(|call| call.parameter("chain").clone())
        .collect();
    assert!(
        chains
            .iter()
            .all(|chain| chain["gateway"] == chains[0]["gateway"])
    );
    // The gateway over the restored folder is another one: it gives no number again.
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    let all = eventually("the new ones too", || {
        let calls = backend.calls();
        (calls.len() >= 2 * CALLS + 2).then_some(calls)
    });
    let new = &all[2 * CALLS].parameter("chain");
    assert_ne!(new["gateway"], chains[0]["gateway"]);
    calls
        .iter()
        .map(|call| call.exchange().to_owned())
        .collect()
}

fn restored(archive: &Path, key: Option<&Path>) -> (Arc<Folder>, String) {
    let folder = Folder::new();
    let mut args = vec!["restore", arg(archive)];
    args.extend(key.iter().flat_map(|key| ["--key-file", arg(key)]));
    let said = monitor(&args, &folder.path().join("data"), None).done();
    (folder, said)
}

#[test]
fn records_that_wait_are_restored_and_delivered() {
    let folder = Folder::new();
    let data = owing(&folder, |gateway| gateway);
    let archive = folder.path().join("backup");
    let said = monitor(&["backup", arg(&archive)], &data, None).done();
    assert!(
        said.contains(&format!("wait in the spool: {}", 2 * CALLS)),
        "{said}"
    );
    let (restored, _) = restored(&archive, None);
    let exchanges = delivered(&restored, |gateway| gateway);
    assert_eq!(exchanges.len(), 2 * CALLS);
}

#[test]
fn an_encrypted_spool_comes_with_its_key_in_an_encrypted_backup_only() {
    let folder = Folder::new();
    let [spool_key, key, plain, sealed] =
        ["spool.key", "key", "plain", "sealed"].map(|name| folder.path().join(name));
    for file in [&spool_key, &key] {
        let made = Command::new(support::monitor())
            .args(["spool", "key", arg(file)])
            .output();
        assert!(made.unwrap().status.success());
    }
    let encrypted = |key: &Path| {
        let lines = format!("spool:\n  encryption:\n    key_file: {}", key.display());
        move |gateway: Builder| gateway.yaml(&lines)
    };
    let data = owing(&folder, encrypted(&spool_key));
    let config = folder.write(
        "backup.yaml",
        &format!(
            "spool:\n  encryption:\n    key_file: {}\n",
            spool_key.display()
        ),
    );
    let config = ["--config", arg(&config)];
    let said = monitor(
        &[&["backup", arg(&plain)], &config[..]].concat(),
        &data,
        None,
    )
    .done();
    assert!(
        said.contains("keys of the spool are in encrypted backups only"),
        "{said}"
    );
    let args = ["backup", arg(&sealed), "--key-file", arg(&key)];
    let said = monitor(&[&args, &config[..]].concat(), &data, None).done();
    assert!(
        said.contains(&format!("wait in the spool: {}", 2 * CALLS)),
        "{said}"
    );
    let (restored_plain, said) = restored(&plain, None);
    assert!(!said.contains("key of the spool:"), "{said}");
    assert!(!restored_plain.path().join("data/spool/keys").exists());
    let (restored, said) = restored(&sealed, Some(&key));
    assert!(said.contains("key of the spool:"), "{said}");
    let keys = std::fs::read_dir(restored.path().join("data/spool/keys")).unwrap();
    let restored_key = keys.map(|entry| entry.unwrap().path()).next().unwrap();
    std::fs::remove_file(&spool_key).unwrap();
    assert_eq!(
        delivered(&restored, encrypted(&restored_key)).len(),
        2 * CALLS
    );
}

#[test]
fn a_backup_has_no_file_beside_its_archive_that_a_kill_could_leave_in_clear_text() {
    let folder = Folder::new();
    let data = owing(&folder, |gateway| gateway);
    let key = folder.path().join("key");
    let backups = folder.path().join("backups");
    std::fs::create_dir(&backups).unwrap();
    let made = Command::new(support::monitor())
        .args(["spool", "key", arg(&key)])
        .output();
    assert!(made.unwrap().status.success());
    let archive = backups.join("monday");
    let mut backup = Command::new(support::monitor())
        .env_clear()
        .args(["backup", arg(&archive), "--key-file", arg(&key)])
        .args(["--data-dir", arg(&data)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut files = BTreeSet::new();
    let status = eventually("it is written", || {
        let found = std::fs::read_dir(&backups).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        files.extend(names);
        backup.try_wait().unwrap()
    });
    assert!(status.success());
    // Those of the lists have a name for a moment, in which they are empty.
    files.retain(|name| !name.contains(".files-") && !name.contains(".spool-"));
    let mut expected = BTreeSet::from(["monday.partial".to_owned()]);
    expected.extend(files.contains("monday").then(|| "monday".to_owned()));
    assert_eq!(files, expected);
    let (restored, _) = restored(&archive, Some(&key));
    assert_eq!(delivered(&restored, |gateway| gateway).len(), 2 * CALLS);
}

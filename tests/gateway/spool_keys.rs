//! The key files of `spool.encryption`, through the binary: which a start accepts, and which it names when one is
//! missing.

use crate::spool_encryption::{FILE_HEADER, World, files, kill, make_key, monitor, once};
use crate::spool_encryption::{spool, spool_of};
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Output;
use support::backend::{Backend, Manner};
use support::line::order;
use support::make_pipe;
use support::stack::Stack;

#[test]
fn a_start_without_the_key_of_a_file_is_refused_says_which_and_changes_nothing() {
    let world = World::new(Backend::that(Manner::Refuses(500)));
    let (one, id) = make_key(&world.folder, "one.key");
    let (two, _) = make_key(&world.folder, "two.key");
    let right = format!("key_file: \"{one}\"");
    kill(world.called(&right, &["a"], 2));
    let before = files(&spool_of(&world.folder));
    for keys in [String::new(), format!("key_file: \"{two}\"")] {
        let (status, said) = world.gateway(&keys).refused();
        assert!(!status.success());
        let segment = spool_of(&world.folder).join("0000000000000001.seg");
        for named in [
            &id,
            "spool.encryption.old_key_files",
            segment.to_str().unwrap(),
        ] {
            assert!(said.contains(named), "{named}: {said}");
        }
        assert_eq!(files(&spool_of(&world.folder)), before);
    }
    let _stack = world.recovered(&right);
    assert_eq!(world.delivered(), once(["a"]));
}

#[test]
fn a_key_file_that_others_may_read_or_that_holds_no_key_is_refused_by_check_and_by_the_start() {
    let world = World::new(Backend::start());
    let (path, _) = make_key(&world.folder, "spool.key");
    let key = std::fs::read_to_string(&path).unwrap();
    let refused = |content: &str, mode: u32, wrong: &str| {
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        for name in ["key_file", "old_key_files"] {
            let keys = format!("{name}: \"{path}\"");
            let (status, said) = world.gateway(&keys).refused();
            let file = world
                .folder
                .path()
                .join("monitor.yaml")
                .display()
                .to_string();
            let checked = monitor(&["check", "--role", "gateway", "--config", &file]);
            let told = String::from_utf8_lossy(&checked.stderr).into_owned();
            assert!(!status.success() && !checked.status.success());
            for said in [said, told] {
                let named = format!("spool.encryption.{name}");
                assert!(said.contains(wrong) && said.contains(&named), "{said}");
                assert!(said.contains(&path) && !said.contains(&key[..16]), "{said}");
            }
        }
    };
    refused(&key, 0o644, "rights 644");
    refused(&key, 0o602, "rights 602");
    refused(&key[..40], 0o600, "holds no key");
    refused("the password of our whole group\n", 0o600, "not random");
    refused("", 0o600, "holds no key");
    // The current key is not an old one.
    std::fs::write(&path, &key).unwrap();
    let both = format!("key_file: \"{path}\", old_key_files: [\"{path}\"]");
    let (status, said) = world.gateway(&both).refused();
    assert!(!status.success());
    let named = "spool.encryption.old_key_files";
    assert!(
        said.contains("holds the key of key_file") && said.contains(named),
        "{said}"
    );
    assert!(!spool_of(&world.folder).exists(), "nothing was started");
}

#[test]
fn a_pipe_in_the_place_of_a_key_file_holds_up_no_start() {
    let world = World::new(Backend::start());
    let path = world.folder.path().join("spool.key");
    make_pipe(&path);
    let keys = format!("key_file: \"{}\"", path.display());
    let (status, said) = world.gateway(&keys).refused();
    assert!(!status.success());
    assert!(said.contains("it is not a file"), "{said}");
}

fn said(out: &Output) -> String {
    let bytes = [&out.stdout[..], &out.stderr].concat();
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn needs_an_upgrade(stack: &Stack) {
    let out = order(stack, "reload", "gateway");
    let said = said(&out);
    let named = "spool.encryption, which needs an upgrade";
    assert!(out.status.success() && said.contains(named), "{said}");
}

#[test]
fn a_reload_refuses_a_key_file_that_lost_the_key_in_use_and_names_the_way_out() {
    let world = World::new(Backend::start());
    let (path, id) = make_key(&world.folder, "spool.key");
    let (other, _) = make_key(&world.folder, "other.key");
    let keys = format!("key_file: \"{path}\"");
    let stack = world.gateway(&keys).start();
    let unchanged = order(&stack, "reload", "gateway");
    assert!(unchanged.status.success(), "{unchanged:?}");
    let first = std::fs::read(&path).unwrap();
    std::fs::copy(&other, &path).unwrap();
    let refused = order(&stack, "reload", "gateway");
    assert!(!refused.status.success());
    let said = said(&refused);
    for named in [path.as_str(), id.as_str(), "old_key_files"] {
        assert!(said.contains(named), "{named}: {said}");
    }
    // The former key is in a file of its own: the next process takes the new one.
    std::fs::write(&other, first).unwrap();
    let yaml = std::fs::read_to_string(stack.configuration()).unwrap();
    let wanted = format!("{keys}, old_key_files: [\"{other}\"]");
    std::fs::write(stack.configuration(), yaml.replace(&keys, &wanted)).unwrap();
    needs_an_upgrade(&stack);
}

#[test]
fn a_reload_says_that_only_a_new_process_takes_keys_that_changed_places() {
    let world = World::new(Backend::start());
    let (one, _) = make_key(&world.folder, "one.key");
    let (two, _) = make_key(&world.folder, "two.key");
    let keys = format!("key_file: \"{one}\", old_key_files: [\"{two}\"]");
    let stack = world.gateway(&keys).start();
    let contents = [&one, &two].map(|path| std::fs::read(path).unwrap());
    std::fs::write(&one, &contents[1]).unwrap();
    std::fs::write(&two, &contents[0]).unwrap();
    needs_an_upgrade(&stack);
}

#[test]
fn the_key_of_a_file_whose_header_is_lost_is_unknown_to_status() {
    let world = World::new(Backend::that(Manner::Refuses(500)));
    let (path, _) = make_key(&world.folder, "spool.key");
    kill(world.called(&format!("key_file: \"{path}\""), &["a"], 2));
    assert_eq!(spool("status", &world.folder)["unknown_key_files"], 0);
    let segment = spool_of(&world.folder).join("0000000000000001.seg");
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[..FILE_HEADER].fill(0);
    std::fs::write(&segment, bytes).unwrap();
    let status = spool("status", &world.folder);
    assert_eq!(status["unknown_key_files"], 1);
    assert_eq!(status["keys"], json!({}));
}

//! The key files of `spool.encryption`, through the binary: which a start accepts, and which it names when one is
//! missing.

use crate::spool_encryption::{World, files, kill, make_key, monitor, once, spool_of};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use support::backend::{Backend, Manner};

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

//! Configuration files: any text ends in settings or in problems, each on one line and at a line of the file. What is
//! accepted is YAML for a second reader too, and has no key that is not known. The first byte of the input picks
//! the role.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_gateway::config::{Origin, Overrides, Role, known_keys, load};
use saphyr::{LoadableYamlNode, Yaml};
use std::path::PathBuf;
use std::sync::LazyLock;

const ROLES: [Role; 3] = [Role::All, Role::Gateway, Role::Analysis];

static KNOWN: LazyLock<[Vec<String>; 3]> = LazyLock::new(|| ROLES.map(known_keys));
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("monitor-fuzz-config-{}.yaml", std::process::id());
    std::env::temp_dir().join(name)
});

/// Whether a role has this key, in this group or within one of its values.
fn is_known(known: &[String], key: &str) -> bool {
    let begins = |long: &str, short: &str| {
        let rest = long.strip_prefix(short);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    known.iter().any(|one| begins(one, key) || begins(key, one))
}

fn check_keys(known: &[String], prefix: &str, node: &Yaml<'_>) {
    for (key, value) in node.as_mapping().into_iter().flatten() {
        let key = format!("{prefix}{}", key.as_str().unwrap_or("not a text"));
        assert!(is_known(known, &key), "{key} is not known");
        check_keys(known, &format!("{key}."), value);
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((role, bytes)) = input.split_first() else {
        return;
    };
    let role = usize::from(*role) % ROLES.len();
    std::fs::write(&*FILE, bytes).expect("a temporary file");
    // The one key that has to be set.
    let url = |name: &str| (name == "UPSTREAM_URL").then(|| "http://127.0.0.1:1".to_owned());
    match load(ROLES[role], Some(&FILE), &Overrides::default(), &url) {
        Ok(_) => {
            let text = std::str::from_utf8(bytes).expect("what is accepted is a text");
            let documents = Yaml::load_from_str(text.trim_start_matches('\u{feff}'));
            let documents = documents.expect("what is accepted is YAML");
            assert!(documents.len() <= 1, "one document");
            for document in &documents {
                check_keys(&KNOWN[role], "", document);
            }
        }
        Err(problems) => {
            // YAML ends a line at a lone carriage return as well.
            let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
            let lines = text.matches(['\r', '\n']).count() + 1;
            for problem in problems.iter() {
                if let Origin::File { line: Some(line), .. } = &problem.origin {
                    assert!((1..=lines).contains(line), "{problem}: no such line");
                }
                let shown = problem.to_string();
                assert!(!shown.contains(char::is_control), "{shown:?}: not one line");
            }
        }
    }
});

//! CONTRACT 23 with `spool.encryption`, through the binary: what waits on the disk tells nothing without its key, and
//! every promise of a record holds as without encryption.

use crate::attachments::HEADER;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use support::backend::{Backend, Manner};
use support::request::Request;
use support::stack::{Builder, Folder, Stack};
use support::upstream::Upstream;
use support::{KEY, eventually};

const PROMPT: &str = "the merger is on Tuesday";
/// In the answer of [`Upstream::ok`].
const ANSWERED: &str = "general greeting";
const FILE: &str = "plans-for-tuesday.pdf";
/// "inline plans" in base64.
const INLINE: &str = "aW5saW5lIHBsYW5z";

/// Bytes before the first frame, and of a frame before its content.
pub(crate) const FILE_HEADER: usize = 4_128;
const FRAME_HEADER: usize = 24;

pub(crate) struct World {
    pub(crate) upstream: Upstream,
    pub(crate) backend: Backend,
    pub(crate) folder: Arc<Folder>,
}

impl World {
    pub(crate) fn new(backend: Backend) -> Self {
        Self {
            upstream: Upstream::ok(),
            backend,
            folder: Folder::new(),
        }
    }

    pub(crate) fn gateway(&self, keys: &str) -> Builder {
        let spool = format!("spool: {{durability: before_upstream, encryption: {{{keys}}}}}");
        let builder = Stack::gateway().upstream(&self.upstream);
        let builder = builder.monitor(&self.backend).folder(&self.folder);
        builder.yaml(&spool)
    }

    /// A gateway that each of these users has called, with all records of the folder on disk.
    pub(crate) fn called(&self, keys: &str, users: &[&str], records: u64) -> Stack {
        let stack = self.gateway(keys).start();
        users.iter().for_each(|user| call(&stack, user));
        eventually("the records are on disk", || {
            (spool("status", &self.folder)["records"] == records).then_some(())
        });
        stack
    }

    /// The backend takes everything from now on; what came before is forgotten.
    fn recover(&self) {
        self.backend.recovers();
        self.backend.forget();
    }

    /// A gateway whose backend takes everything.
    pub(crate) fn recovered(&self, keys: &str) -> Stack {
        self.recover();
        self.gateway(keys).start()
    }

    /// How often each user's prompt and answer came, once the spool owes nothing.
    pub(crate) fn delivered(&self) -> HashMap<(String, bool), usize> {
        eventually("nothing is owed", || {
            let status = spool("status", &self.folder);
            (status["records"] == 0 && status["put_back"] == 0).then_some(())
        });
        let mut came = HashMap::new();
        for call in self.backend.calls() {
            let user = call.parameter("user_id").as_str().unwrap().to_owned();
            let text = if call.is_pre() { PROMPT } else { ANSWERED };
            assert!(call.message().contains(text));
            *came.entry((user, call.is_pre())).or_default() += 1;
        }
        came
    }
}

/// A call of this user, with files that nobody fetches while the backend is away.
fn call(stack: &Stack, user: &str) {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": PROMPT}]});
    let host = support::fault::unresolvable_host();
    let files = json!([
        {"url": format!("https://{host}/{FILE}")},
        {"content_base64": INLINE, "name": "b"},
    ]);
    let request = Request::chat(body.to_string())
        .header("X-User-Id", user)
        .header(HEADER, &files.to_string());
    assert_eq!(stack.call(&request).status(), 200);
}

pub(crate) fn monitor(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_monitor"));
    command.env_clear().args(arguments).output().unwrap()
}

/// Makes a key file; its path and the id of the key.
pub(crate) fn make_key(folder: &Folder, name: &str) -> (String, String) {
    let path = folder.path().join(name).display().to_string();
    let made = monitor(&["spool", "key", &path]);
    let said = String::from_utf8(made.stdout).unwrap();
    assert!(made.status.success(), "{said}");
    let key = std::fs::read_to_string(&path).unwrap();
    assert!(!said.contains(key.trim()), "the key itself is not shown");
    let id = said.split_whitespace().nth(1).unwrap().to_owned();
    (path, id)
}

pub(crate) fn spool_of(folder: &Folder) -> PathBuf {
    folder.path().join("data/spool")
}

/// What `monitor spool` says of the folder, with the configuration of its gateway.
pub(crate) fn spool(action: &str, folder: &Folder) -> Value {
    let (dir, file) = (spool_of(folder), folder.path().join("monitor.yaml"));
    let [dir, file] = [dir, file].map(|path| path.display().to_string());
    let said = monitor(&["spool", action, "--json", "--dir", &dir, "--config", &file]);
    let error = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success(), "{error}");
    serde_json::from_slice(&said.stdout).unwrap()
}

/// Every file below a folder, with its content. A running gateway may remove any of them meanwhile.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let entries = unless_gone(std::fs::read_dir(folder));
    for entry in entries.into_iter().flatten() {
        let Some(entry) = unless_gone(entry) else {
            continue;
        };
        let (path, kind) = (entry.path(), unless_gone(entry.file_type()));
        match kind {
            Some(kind) if kind.is_dir() => found.extend(files(&path)),
            Some(kind) if kind.is_file() => {
                let content = unless_gone(std::fs::read(&path));
                found.extend(content.map(|content| (path, content)));
            }
            _ => {}
        }
    }
    found.sort();
    found
}

fn unless_gone<T>(result: io::Result<T>) -> Option<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        result => Some(result.unwrap()),
    }
}

/// Which of the secrets stand in a file of the data folder.
fn readable(folder: &Folder) -> Vec<&'static str> {
    let files = files(&folder.path().join("data"));
    assert!(!files.is_empty());
    let secrets = [PROMPT, ANSWERED, KEY, FILE, INLINE];
    let stands = |secret: &&str| {
        let mut contents = files.iter();
        contents.any(|(_, content)| support::contains(content, secret.as_bytes()))
    };
    secrets.into_iter().filter(stands).collect()
}

pub(crate) fn kill(mut stack: Stack) {
    stack.process.signal("KILL");
    stack.process.await_exit();
}

/// The prompt and the answer of each user, once.
pub(crate) fn once<'a>(users: impl IntoIterator<Item = &'a str>) -> HashMap<(String, bool), usize> {
    let both = |user: &str| [true, false].map(|pre| ((user.to_owned(), pre), 1));
    users.into_iter().flat_map(both).collect()
}

#[test]
fn no_text_and_no_key_is_in_any_file_while_the_backend_is_away_and_each_record_arrives_once() {
    for encrypts in [false, true] {
        let world = World::new(Backend::that(Manner::Refuses(500)));
        let (key, id) = make_key(&world.folder, "spool.key");
        let keys = if encrypts {
            format!("key_file: \"{key}\"")
        } else {
            String::new()
        };
        let stack = world.called(&keys, &["a", "b", "c"], 6);
        let shown = stack.operations("/status").json();
        assert_eq!(shown["spool"]["encrypted"], encrypts);
        let secret = std::fs::read_to_string(&key).unwrap();
        assert!(!shown.to_string().contains(secret.trim()));
        // While it runs, and as kill -9 leaves it.
        let found = readable(&world.folder);
        kill(stack);
        assert_eq!(readable(&world.folder), found);
        let status = spool("status", &world.folder);
        match encrypts {
            // The search finds them where they are.
            false => assert_eq!(found, [PROMPT, ANSWERED, KEY, FILE, INLINE]),
            true => {
                assert_eq!(found, [""; 0]);
                assert_eq!(status["keys"], json!({id: 1}));
                assert_eq!(status["unencrypted_files"], 0);
            }
        }
        let _stack = world.recovered(&keys);
        assert_eq!(world.delivered(), once(["a", "b", "c"]));
        eventually("the inline files came", || {
            (world.backend.files().len() >= 3).then_some(())
        });
    }
}

#[test]
fn dead_letters_are_encrypted_too_and_replayed_with_the_key() {
    let world = World::new(Backend::that(Manner::Refuses(422)));
    let folder = &world.folder;
    let (key, id) = make_key(folder, "spool.key");
    let letters = |count: u64| {
        eventually("they are dead letters", || {
            let status = spool("status", folder);
            let is_settled = status["dead_letters"] == count && status["records"] == 0;
            is_settled.then_some(())
        });
    };
    // Those from before the spool was encrypted are written again.
    let stack = world.gateway("").start();
    call(&stack, "clear");
    letters(2);
    kill(stack);
    assert!(readable(folder).contains(&PROMPT));
    let keys = format!("key_file: \"{key}\"");
    let stack = world.gateway(&keys).start();
    call(&stack, "encrypted");
    letters(4);
    eventually("nothing is readable", || {
        readable(folder).is_empty().then_some(())
    });
    let listed = spool("dead", folder);
    assert_eq!(listed.as_array().unwrap().len(), 4);
    // Without the configuration there is no key.
    let dir = spool_of(folder).display().to_string();
    let without = monitor(&["spool", "dead", "--dir", &dir]);
    let said = String::from_utf8_lossy(&without.stderr).into_owned();
    assert!(!without.status.success());
    assert!(
        said.contains(&id) && said.contains("old_key_files"),
        "{said}"
    );
    world.recover();
    assert_eq!(spool("replay", folder)["put_back"], 4);
    eventually("all came", || {
        (world.backend.calls().len() >= 4).then_some(())
    });
    assert_eq!(world.delivered(), once(["clear", "encrypted"]));
    assert_eq!(readable(folder), [""; 0]);
    drop(stack);
}

#[test]
fn a_wrong_bit_or_a_changed_record_costs_that_record_alone() {
    for is_tampered in [false, true] {
        let world = World::new(Backend::that(Manner::Refuses(500)));
        let (key, _) = make_key(&world.folder, "spool.key");
        let keys = format!("key_file: \"{key}\"");
        kill(world.called(&keys, &["a", "b", "c"], 6));
        let is_segment = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "seg");
        let path = files(&spool_of(&world.folder))
            .into_iter()
            .map(|(path, _)| path);
        let path = path.into_iter().find(is_segment).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        change_second(&mut bytes, is_tampered);
        std::fs::write(&path, &bytes).unwrap();
        let stack = world.recovered(&keys);
        let came = world.delivered();
        assert_eq!(came.len(), 5, "{is_tampered}");
        assert!(came.values().all(|count| *count == 1));
        let lost = stack.metric("monitor_spool_lost_total{reason=\"damaged\"}");
        assert_eq!(lost, 1.0, "{is_tampered}");
        assert!(std::fs::read(path.with_extension("damaged")).unwrap() == bytes);
    }
}

/// Changes a bit of the second frame's content; if it is to look right, the checksums as well.
fn change_second(bytes: &mut [u8], looks_right: bool) {
    let length = |bytes: &[u8], at: usize| {
        let length = u32::from_le_bytes(bytes[at + 12..at + 16].try_into().unwrap());
        (length & !(1 << 31)) as usize
    };
    let second = FILE_HEADER + FRAME_HEADER + length(bytes, FILE_HEADER);
    let content = second + FRAME_HEADER..second + FRAME_HEADER + length(bytes, second);
    bytes[content.start + 40] ^= 4;
    if looks_right {
        let checksum = crc32fast::hash(&bytes[content]).to_le_bytes();
        bytes[second + 16..second + 20].copy_from_slice(&checksum);
        let checksum = crc32fast::hash(&bytes[second..second + 20]).to_le_bytes();
        bytes[second + 20..second + 24].copy_from_slice(&checksum);
    }
}

#[test]
fn encryption_is_switched_on_rotated_and_switched_off_over_kills_and_no_record_is_lost() {
    let world = World::new(Backend::that(Manner::Refuses(500)));
    let (one, one_id) = make_key(&world.folder, "one.key");
    let (two, two_id) = make_key(&world.folder, "two.key");
    let stages = [
        ("clear", String::new()),
        ("one", format!("key_file: \"{one}\"")),
        (
            "two",
            format!("key_file: \"{two}\", old_key_files: [\"{one}\"]"),
        ),
        ("off", format!("old_key_files: [\"{one}\", \"{two}\"]")),
    ];
    for (count, (user, keys)) in (1..).zip(&stages) {
        kill(world.called(keys, &[user], 2 * count));
    }
    let status = spool("status", &world.folder);
    assert_eq!(status["keys"], json!({one_id: 1, two_id: 1}));
    assert_eq!(status["unencrypted_files"], 2);
    let _stack = world.recovered(&stages[3].1);
    let users = stages.iter().map(|(user, _)| *user);
    assert_eq!(world.delivered(), once(users));
    eventually("no file needs a key any more", || {
        (spool("status", &world.folder)["keys"] == json!({})).then_some(())
    });
}

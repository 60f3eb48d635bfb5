//! A backup of a server that is writing: what was acknowledged before it began is in it, its chain and its counts fit
//! its records, and the restored server goes on. And files in a bucket, on their way from one to another.

use super::month::fill;
use super::{arg, monitor, monitor_with};
use crate::servers::world::{authorised, over};
use monitor_model::{Chain, ChainHash, Identity, Stage};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use support::bucket::Bucket;
use support::postgres::Postgres;
use support::request::Request;
use support::stack::{Builder, Folder, Stack};
use support::{KEY, eventually};
use tokio::runtime::Runtime;
use uuid::Uuid;

const WRITERS: u128 = 4;
/// Acknowledgements before the backup begins.
const BEFORE: usize = 100;
const PLACE: &str = "blobs: s3://files/of/monitor";

/// An application that the filled store does not have yet; it keeps originals.
#[track_caller]
fn application(stack: &Stack) -> String {
    let body = json!({"name": "live", "rules": {"keep_original": true}}).to_string();
    let made = authorised(Request::post("/applications", body)).call(stack.analysis_addr);
    assert_eq!(made.status(), 201, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn get(stack: &Stack, path: &str) -> Value {
    let answer = stack.analysis(path, KEY);
    assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
    answer.json()
}

/// A client that numbers its records as a gateway does, and sends one after the other: at any moment its numbers in
/// the store have no gap.
struct Writer<'s> {
    stack: &'s Stack,
    application: &'s str,
    gateway: Uuid,
    sequence: u64,
    previous: ChainHash,
}

impl<'s> Writer<'s> {
    fn new(stack: &'s Stack, application: &'s str, number: u128) -> Self {
        Self {
            stack,
            application,
            gateway: gateway(number),
            sequence: 0,
            previous: ChainHash::default(),
        }
    }

    /// The id of the next record, which is acknowledged.
    fn next(&mut self) -> String {
        self.sequence += 1;
        let exchange = format!("{}-{}", self.gateway, self.sequence);
        let chain = Chain {
            gateway: self.gateway,
            sequence: self.sequence,
            previous: self.previous,
            after: None,
        };
        let message = "write to a@example.org";
        let identity = Identity {
            request_id: Some(&exchange),
            stage: Stage::PreCall,
            application_id: Some(self.application),
            user_id: None,
            session_id: Some("live"),
            message,
        };
        self.previous = chain.link(identity.digest());
        let body = json!({"application_id": self.application, "message": message,
            "additional_parameters": {"request_id": exchange, "session_id": "live", "chain": chain}});
        let request = authorised(Request::post("/process_request/", body.to_string()));
        let answer = request.call(self.stack.analysis_addr);
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.json()["request_id"].as_str().unwrap().to_owned()
    }
}

fn gateway(number: u128) -> Uuid {
    Uuid::from_u128(0x1000 + number)
}

/// Writes with all of them while `work` is done; gives what was acknowledged before that, and all.
fn while_writing<T: Clone + Send>(
    writers: Vec<impl FnMut() -> T + Send>,
    before: usize,
    work: impl FnOnce(),
) -> [Vec<T>; 2] {
    let (acknowledged, ended) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let all = || acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
    let first = std::thread::scope(|scope| {
        for mut write in writers {
            let (all, ended) = (&all, &ended);
            scope.spawn(move || {
                while !ended.load(Ordering::SeqCst) {
                    let written = write();
                    all().push(written);
                }
            });
        }
        // Whatever fails, the writers end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let first = eventually("there are records", || {
                let written = all();
                (written.len() >= before).then(|| written.clone())
            });
            work();
            let count = all().len();
            assert!(count > first.len(), "nothing was written meanwhile");
            first
        }));
        ended.store(true, Ordering::SeqCst);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    [first, all().clone()]
}

/// The records of the application, by the gateway that numbered them.
fn stored(stack: &Stack, application: &str) -> BTreeMap<String, Vec<Value>> {
    let path = format!("/records/export?format=jsonl&application_id={application}");
    let answer = stack.analysis(&path, KEY);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let text = answer.text();
    let mut stored: BTreeMap<_, Vec<Value>> = BTreeMap::new();
    for line in text.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let exchange = record["exchange_id"].as_str().unwrap();
        let gateway = exchange.rsplit_once('-').unwrap().0.to_owned();
        stored.entry(gateway).or_default().push(record);
    }
    stored
}

/// Fails unless the chain of each gateway, the statistics and the sessions count the records that are there.
#[track_caller]
fn assert_consistent(stack: &Stack, application: &str) -> usize {
    let stored = stored(stack, application);
    for (gateway, records) in &stored {
        let chain = get(stack, &format!("/chain?gateway={gateway}"));
        let chain = &chain["gateways"][0];
        let count = records.len();
        assert_eq!(chain["complete"], true, "{chain}");
        assert_eq!(
            (&chain["count"], &chain["last"]),
            (&json!(count), &json!(count))
        );
        for empty in ["gaps", "vanished", "interrupted", "broken_links"] {
            assert_eq!(chain[empty], json!([]), "{empty}: {chain}");
        }
        assert_eq!(chain["repeats"], 0, "{chain}");
    }
    let count = stored.values().map(Vec::len).sum();
    let days = get(stack, &format!("/statistics?application_id={application}"));
    let days = days["days"].as_array().unwrap().iter();
    let counted: u64 = days.map(|day| day["messages"].as_u64().unwrap()).sum();
    assert_eq!(counted as usize, count, "messages of the days");
    let sessions = get(stack, &format!("/sessions?application_id={application}"));
    let sessions = sessions["sessions"].as_array().unwrap();
    let counted = sessions.iter().map(|one| one["messages"].as_u64().unwrap());
    assert_eq!(
        counted.sum::<u64>() as usize,
        count,
        "messages of the sessions"
    );
    count
}

/// Backs a server up while clients write, restores the archive, and looks at what the restored server has.
fn lives_through_a_backup(
    server: Builder,
    restored: Builder,
    backup: impl FnOnce(),
    restore: impl FnOnce(),
) {
    let stack = server.start();
    let application = application(&stack);
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let mut writer = Writer::new(&stack, &application, number);
            move || writer.next()
        })
        .collect();
    let [before, all] = while_writing(writers, BEFORE, backup);
    assert_eq!(assert_consistent(&stack, &application), all.len());
    drop(stack);
    restore();
    let stack = restored.start();
    let ids: HashSet<String> = stored(&stack, &application)
        .into_values()
        .flatten()
        .map(|record| record["request_id"].as_str().unwrap().to_owned())
        .collect();
    let lost: Vec<_> = before.iter().filter(|id| !ids.contains(*id)).collect();
    assert!(lost.is_empty(), "acknowledged before the backup: {lost:?}");
    let all: HashSet<String> = all.into_iter().collect();
    assert!(ids.is_subset(&all), "nobody wrote them");
    let count = assert_consistent(&stack, &application);
    assert_eq!(count, ids.len(), "none is there twice");
    // It goes on.
    Writer::new(&stack, &application, WRITERS).next();
    assert_eq!(assert_consistent(&stack, &application), count + 1);
}

#[test]
fn a_server_over_sqlite_that_writes_is_backed_up_and_loses_nothing_acknowledged() {
    let (old, new) = (Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    Runtime::new().unwrap().block_on(fill(&from));
    let archive = old.path().join("backup");
    let server = Stack::analysis_server();
    lives_through_a_backup(
        server.clone().folder(&old),
        server.folder(&new),
        || {
            let args = ["backup", arg(&archive), "--role", "analysis"];
            monitor(&args, &from, None).done();
        },
        || {
            let args = ["restore", arg(&archive), "--role", "analysis"];
            monitor(&args, &to, None).done();
        },
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_server_over_postgresql_that_writes_is_backed_up_and_loses_nothing_acknowledged() {
    let (old, new) = (Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    Runtime::new().unwrap().block_on(fill(&from));
    let server = Postgres::shared();
    let [database, target] = [0, 1].map(|_| server.empty_database());
    monitor(&["copy"], &from, Some(&database)).done();
    let archive = old.path().join("backup");
    lives_through_a_backup(
        over(&database, Stack::analysis_server().folder(&old)),
        over(&target, Stack::analysis_server().folder(&new)),
        || {
            let args = ["backup", arg(&archive), "--role", "analysis"];
            monitor(&args, &from, Some(&database)).done();
        },
        || {
            let args = ["restore", arg(&archive), "--role", "analysis"];
            monitor(&args, &to, Some(&target)).done();
        },
    );
}

/// A file of a record.
#[derive(Clone)]
struct Attached {
    record: String,
    sha256: String,
    content: String,
}

/// Attaches a file of its own, and one that every record has, to a new record.
fn attach(stack: &Stack, writer: &mut Writer<'_>) -> [Attached; 2] {
    let record = writer.next();
    let contents = [format!("of {record} alone"), "of everybody".to_owned()];
    let mut body = String::new();
    for content in &contents {
        body +=
            "--xyz\r\nContent-Disposition: form-data; name=\"attached_files\"; filename=\"a\"\r\n";
        body += &format!("Content-Type: text/plain\r\n\r\n{content}\r\n");
    }
    body += "--xyz--\r\n";
    let path = format!("/user_prompt_analysis/{record}/attach_files/");
    let request = Request::post(&path, body).content_type("multipart/form-data; boundary=xyz");
    let answer = authorised(request).call(stack.analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let files = answer.json();
    let mut sums = files.as_array().unwrap().iter();
    contents.map(|content| Attached {
        record: record.clone(),
        sha256: sums.next().unwrap()["sha256"].as_str().unwrap().to_owned(),
        content,
    })
}

fn in_bucket(bucket: &Bucket, builder: Builder) -> Builder {
    let variables = bucket.env().into_iter();
    variables.fold(builder.yaml(PLACE), |builder, (name, value)| {
        builder.env(name, value)
    })
}

#[test]
fn files_in_a_bucket_are_backed_up_while_files_are_attached_and_restored_into_another() {
    let (old, new) = (Folder::new(), Folder::new());
    let (first, second) = (Bucket::start(), Bucket::start());
    let archive = old.path().join("backup");
    let run = |bucket: &Bucket, command: &str, folder: &Folder| {
        let config = folder.write("transfer.yaml", &format!("{PLACE}\n"));
        let args = [command, arg(&archive), "--role", "analysis", "--config"];
        let args = [&args[..], &[arg(&config)]].concat();
        monitor_with(&args, &folder.path().join("data"), bucket.env()).done()
    };
    let stack = in_bucket(&first, Stack::analysis_server().folder(&old)).start();
    let application = application(&stack);
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let (stack, mut writer) = (&stack, Writer::new(&stack, &application, number));
            move || attach(stack, &mut writer)
        })
        .collect();
    let [before, all] = while_writing(writers, BEFORE / 4, || {
        let said = run(&first, "backup", &old);
        assert!(
            said.contains("the bucket files, under of/monitor/"),
            "{said}"
        );
        assert!(!said.contains("note:"), "{said}");
    });
    assert_eq!(first.objects().len(), all.len() + 1);
    drop(stack);
    run(&second, "restore", &new);
    let objects = first.objects();
    for (key, bytes) in second.objects() {
        assert!(objects.get(&key) == Some(&bytes), "{key}");
    }
    first.set_down(true);
    let stack = in_bucket(&second, Stack::analysis_server().folder(&new)).start();
    for Attached {
        record,
        sha256,
        content,
    } in before.into_iter().flatten()
    {
        let path = format!("/records/{record}/attachments/{sha256}");
        let answer = stack.analysis(&path, KEY);
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        assert_eq!(answer.text(), content);
    }
    // What a record names is there, whenever it was attached.
    let linked: HashSet<String> = stored(&stack, &application)
        .into_values()
        .flatten()
        .flat_map(|record| {
            let id = record["request_id"].as_str().unwrap();
            let record = get(&stack, &format!("/records/{id}"));
            record["attachments"].as_array().unwrap().clone()
        })
        .map(|file| file["sha256"].as_str().unwrap().to_owned())
        .collect();
    let kept: HashSet<String> = second
        .objects()
        .keys()
        .map(|key| key.rsplit('/').next().unwrap().to_owned())
        .collect();
    assert_eq!(kept, linked);
    assert_consistent(&stack, &application);
}

//! Tool calls, and files that wait for their message, on their way: both are there afterwards. An older schema gets
//! messages in place of the parts of calls, but for those that an erasure of their user would not find there.

use super::{arg, monitor};
use monitor_model::{ApplicationId, CallFacts, CheckedPart, CheckedParts, Stage};
use monitor_store::{
    AttachTarget, Attached, Attachment, BlobStore, Erasure, Exchange, Findings, NewAttachment,
    NewRecord, PostgresStore, RecordFilter, RecordRemoval as _, RecordStore as _, Scanned,
    SessionFilter, SqliteStore, Store, StoreEngine as _, StoredRecord, ToolCall, ToolFilter,
    WaitingLimits,
};
use std::path::Path;
use support::bed::{add_application, answer};
use support::postgres::Postgres;
use support::stack::Folder;
use tokio::runtime::Runtime;
use uuid::Uuid;

/// What a restore into an older schema says of the two parts without a user.
const LEFT_OUT: &str = "note: 2 parts of tool calls that name no user are left out";

/// The schema before tool calls, and before parts of records.
const BEFORE_EXCHANGES: i64 = 14;

const EXCHANGE: &str = "обмен\0";

fn record(application_id: ApplicationId, stage: Stage, tool: Option<&str>) -> NewRecord {
    let tool = tool.map(|call_id| ToolCall {
        name: "найти\0".to_owned(),
        call_id: call_id.to_owned(),
    });
    NewRecord {
        application_id,
        stage,
        exchange_id: Some(EXCHANGE.to_owned()),
        tool,
        user_id: None,
        session_id: None,
        created_at_ms: 1_790_000_000_000,
        rules_version: Some(1),
        inline_rules: None,
        tool_parts: monitor_model::CheckedParts::default(),
        blocked: false,
        unchecked: false,
        found_values: Vec::new(),
        message: None,
        additional_parameters: serde_json::Map::new(),
        chain: None,
        cost: None,
        call: Some(facts()),
        token: Some(KEY_NAME.to_owned()),
        answer: answer(),
    }
}

const USER: &str = "анна";
const KEY_NAME: &str = "ключ\0";

fn facts() -> CallFacts {
    CallFacts {
        provider: Some("gpu-1".to_owned()),
        status: Some(200),
        ..CallFacts::default()
    }
}

/// A result of a tool beside a prompt.
fn parts() -> CheckedParts {
    CheckedParts {
        parts: vec![CheckedPart {
            call_id: "9".to_owned(),
            name: "читать\0".to_owned(),
            text: Some("text \0\\N".to_owned()),
            types: vec!["ЗАКАЗ".to_owned()],
            ..CheckedPart::default()
        }],
        omitted: 3,
    }
}

/// The records that a filter for this tool and for the type in its result finds.
async fn with_parts(store: &dyn Store) -> Vec<StoredRecord> {
    let filter = RecordFilter {
        tools: Some(ToolFilter::Named("читать\0".to_owned())),
        kind: Some("ЗАКАЗ".to_owned()),
        limit: 9,
        ..RecordFilter::default()
    };
    store.whole_page(&filter).await.unwrap().records
}

/// A prompt with the parts of two tool calls, one of which names its user, and a file that waits for the answer.
async fn fill(data_dir: &Path) -> ApplicationId {
    std::fs::create_dir_all(data_dir).unwrap();
    let store = SqliteStore::open(&data_dir.join("monitor.db"))
        .await
        .unwrap();
    let store: &dyn Store = &store;
    let application = add_application(store, "first").await;
    for (stage, tool, user) in [
        (Stage::PreCall, None, Some(USER)),
        (Stage::PostCall, Some("1"), None),
        (Stage::PreCall, Some("1"), None),
        (Stage::PostCall, Some("2"), Some(USER)),
    ] {
        let is_prompt = tool.is_none();
        let part = NewRecord {
            user_id: user.map(str::to_owned),
            session_id: Some("s".to_owned()),
            tool_parts: if is_prompt {
                parts()
            } else {
                CheckedParts::default()
            },
            ..record(application, stage, tool)
        };
        store.insert(part).await.unwrap();
    }
    let blobs = BlobStore::local(&data_dir.join("blobs")).unwrap();
    let mut upload = blobs.begin().await.unwrap();
    upload.write(b"content".as_slice().into()).await.unwrap();
    let received = upload.finish().await.unwrap();
    let ticket = store.claim_blob(received.hash, received.size, 7).await;
    blobs.keep(&received).await.unwrap();
    let (hash, size) = (received.hash, received.size);
    received.discard().await;
    let exchange = Exchange {
        application_id: application,
        id: EXCHANGE.to_owned(),
        stage: Stage::PostCall,
    };
    let limits = WaitingLimits {
        files: 9,
        bytes: 1 << 20,
    };
    let new = NewAttachment {
        to: AttachTarget::Exchange(exchange, limits),
        ticket: ticket.unwrap(),
        attachment: Attachment {
            hash,
            name: "имя\0.txt".to_owned(),
            kind: "text/plain".to_owned(),
            size,
            kept: true,
            findings: Findings {
                scanned: Scanned::No,
                extraction: None,
                types: Vec::new(),
            },
            attached_at_ms: 5,
        },
    };
    assert_eq!(store.attach(new).await.unwrap(), Attached::Waiting);
    store.close().await;
    application
}

/// Everything is there, a repeated part is known, and the file finds its answer.
async fn check(store: &dyn Store, application: ApplicationId) {
    let calls = store.tool_calls(application, EXCHANGE, 9).await.unwrap();
    let found: Vec<_> = calls
        .iter()
        .map(|part| {
            let tool = part.summary.tool.as_ref().unwrap();
            assert_eq!(tool.name, "найти\0");
            (part.summary.stage, tool.call_id.as_str())
        })
        .collect();
    let expected = [
        (Stage::PostCall, "1"),
        (Stage::PreCall, "1"),
        (Stage::PostCall, "2"),
    ];
    assert_eq!(found, expected);
    for part in &calls {
        assert_eq!(part.summary.call, Some(facts()));
        assert_eq!(part.summary.token.as_deref(), Some(KEY_NAME));
    }
    let found = with_parts(store).await;
    assert_eq!((found.len(), &found[0].tool_parts), (1, &parts()));
    let repeated = record(application, Stage::PreCall, Some("1"));
    let repeated = store.insert(repeated).await.unwrap().request_id;
    assert_eq!(repeated, calls[1].summary.id);
    let answered = record(application, Stage::PostCall, None);
    let answered = store.insert(answered).await.unwrap().request_id;
    let seq = store.record(answered).await.unwrap().unwrap().summary.seq;
    let files = store.attachments(seq).await.unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].name, "имя\0.txt");
    assert!(store.unlinked_blobs(9).await.unwrap().is_empty());
}

async fn check_folder(data_dir: &Path, application: ApplicationId) {
    let store = SqliteStore::open(&data_dir.join("monitor.db"))
        .await
        .unwrap();
    check(&store, application).await;
    store.close().await;
}

fn blobs(data_dir: &Path) -> usize {
    let shards = std::fs::read_dir(data_dir.join("blobs")).unwrap();
    shards
        .map(|shard| std::fs::read_dir(shard.unwrap().path()).unwrap().count())
        .sum()
}

#[test]
fn tool_calls_and_files_that_wait_are_restored_and_an_older_schema_gets_messages() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let [from, to, older] = ["from", "to", "older"].map(|name| match name {
        "from" => old.path().join(name),
        _ => new.path().join(name),
    });
    let application = runtime.block_on(fill(&from));
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, None).done();
    monitor(&["restore", arg(&archive)], &to, None).done();
    assert_eq!(blobs(&to), 1);
    runtime.block_on(check_folder(&to, application));
    let before = BEFORE_EXCHANGES.to_string();
    let args = ["restore", arg(&archive), "--schema", &before];
    let said = monitor(&args, &older, None).done();
    assert!(said.contains(LEFT_OUT), "{said}");
    runtime.block_on(async {
        let store = SqliteStore::open(&older.join("monitor.db")).await.unwrap();
        let whole = RecordFilter {
            limit: 9,
            ..RecordFilter::default()
        };
        let all = store.page(&whole).await.unwrap().records;
        assert_eq!(all.len(), 2);
        let whole_page = store.whole_page(&whole).await.unwrap().records;
        assert!(whole_page.iter().all(|record| record.tool_parts.is_empty()));
        let alone = all.iter().filter(|record| record.exchange_id.is_none());
        assert_eq!(alone.count(), 1);
        assert!(all.iter().all(|record| record.tool.is_none()));
        let sessions = SessionFilter {
            limit: 9,
            ..SessionFilter::default()
        };
        let sessions = store.sessions(&sessions).await.unwrap();
        assert_eq!((sessions.len(), sessions[0].messages), (1, 2));
        let erasure = Erasure {
            id: Uuid::new_v4(),
            user_id: USER.to_owned(),
            application_id: None,
            at_ms: 5,
        };
        assert_eq!(store.erase_step(&erasure).await.unwrap().records, 2);
        assert!(store.page(&whole).await.unwrap().records.is_empty());
        store.close().await;
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn tool_calls_and_files_that_wait_move_to_postgresql_and_back() {
    let (runtime, old, new) = (Runtime::new().unwrap(), Folder::new(), Folder::new());
    let (from, to) = (old.path().join("data"), new.path().join("data"));
    let application = runtime.block_on(fill(&from));
    let server = Postgres::shared();
    let [database, older] = [0, 1].map(|_| server.empty_database());
    monitor(&["copy"], &from, Some(&database)).done();
    let archive = old.path().join("backup");
    monitor(&["backup", arg(&archive)], &from, Some(&database)).done();
    runtime.block_on(async {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        check(&store, application).await;
        store.close().await;
    });
    monitor(&["restore", arg(&archive)], &to, None).done();
    runtime.block_on(check_folder(&to, application));
    let before = BEFORE_EXCHANGES.to_string();
    let folder = new.path().join("older");
    let args = ["restore", arg(&archive), "--schema", &before];
    let said = monitor(&args, &folder, Some(&older)).done();
    assert!(said.contains(LEFT_OUT), "{said}");
    let nobodys = "SELECT count(*) FROM records WHERE user_id IS NULL";
    assert_eq!(older.query(nobodys), "0");
    let alone = "SELECT count(*) FROM records WHERE exchange_id IS NULL";
    assert_eq!(older.query(alone), "1");
    assert_eq!(older.query("SELECT messages FROM sessions"), "2");
}

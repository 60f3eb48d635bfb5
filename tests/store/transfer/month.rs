//! A month of an installation: three applications with versions and policies, keys, people, two gateways with a gap
//! and a repeat, files, sessions of several users, an erased user, and an application that was removed.

use monitor_model::{
    Amount, ApplicationId, CallTokens, ChainHash, Policy, Priced, RecordId, Severity, Stage,
    TypeCount,
};
use monitor_store::{
    Account, AccountId, ApplicationChange, AttachTarget, Attachment, AuditEntry, BlobStore,
    CallCost, ChainEntry, Erasure, FilterId, Findings, Identity, NewAttachment, NewRecord, Role,
    SavedFilter, Scanned, SqliteStore, Store, StoreEngine, SumNames, TokenHash, TokenId, Usage,
    VersionLimits,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use support::bed::{add_application, answer, found, token};
use uuid::Uuid;

pub(crate) const DAYS: i64 = 31;
const DAY_MS: i64 = 86_400_000;
/// Exchanges of an application in a day.
const EXCHANGES: i64 = 3;
/// A user whose name no text column takes as it is.
pub(crate) const ODD_USER: &str = "анна\0 \u{10FFFF}\\N\t\"";

pub(crate) struct Month {
    pub(crate) applications: Vec<ApplicationId>,
    pub(crate) now_ms: i64,
}

/// Fills the store in a new data folder.
pub(crate) async fn fill(data_dir: &Path) -> Month {
    std::fs::create_dir_all(data_dir).unwrap();
    let store = SqliteStore::open(&data_dir.join("monitor.db"))
        .await
        .unwrap();
    let month = fill_store(&store, data_dir).await;
    store.close().await;
    month
}

async fn fill_store(store: &dyn Store, data_dir: &Path) -> Month {
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let now_ms = i64::try_from(now.as_millis()).unwrap();
    let mut applications = Vec::new();
    for name in ["first", "второе\0", "third"] {
        applications.push(add_application(store, name).await);
    }
    let month = Month {
        applications,
        now_ms,
    };
    month.settings(store).await;
    month.people(store).await;
    let removed = add_application(store, "removed").await;
    month.records(store, data_dir, removed).await;
    store.remove_application(removed, 1, None).await.unwrap();
    erase(store, "gone", None).await;
    month
}

/// Erases a user; gives the number of records.
pub(crate) async fn erase(
    store: &dyn Store,
    user: &str,
    application_id: Option<ApplicationId>,
) -> u64 {
    let erasure = Erasure {
        id: Uuid::new_v4(),
        user_id: user.to_owned(),
        application_id,
        at_ms: 1_700_000_000_000,
    };
    store.add_tombstone(&erasure, None).await.unwrap();
    let mut records = 0;
    loop {
        match store.erase_step(&erasure).await.unwrap().records {
            0 => return records,
            more => records += more,
        }
    }
}

impl Month {
    fn start_ms(&self) -> i64 {
        self.now_ms - DAYS * DAY_MS
    }

    async fn settings(&self, store: &dyn Store) {
        let policy: Policy = Policy::from_json(
            r#"{"app_mode": "sync", "phrase": "Stopped.", "block_on": {"dataclean": false},
                "check_tool_arguments": false, "budgets": [{"per": "user", "window": "day", "cost": "0.5", "action": "stop"}]}"#,
        )
        .unwrap();
        for (version, name) in [(1, "renamed"), (2, "renamed again\0")] {
            let change = ApplicationChange {
                id: self.applications[0],
                expected_version: version,
                name: name.to_owned(),
                description: "with \\N and\ttabs\n".to_owned(),
                rules: json!({"pre": {"guardrails": {}, "odd": "\0"}, "version": version}),
                policy: Some(policy.clone()),
                changed_at_ms: self.start_ms() + version,
                changed_by: "who".to_owned(),
                keep: VersionLimits::default(),
            };
            store.change_application(change, None).await.unwrap();
        }
        for (number, application) in [None, Some(self.applications[1])].into_iter().enumerate() {
            let mut one = token(&format!("key {number}\0"), application);
            one.revoked_at_ms = application.map(|_| self.now_ms);
            let hash = TokenHash([u8::try_from(number).unwrap(); 32]);
            store.add_token(hash, one, None).await.unwrap();
        }
        for number in 0..5 {
            let entry = AuditEntry {
                seq: 0,
                at_ms: self.start_ms() + number,
                actor: format!("actor\0 {number}"),
                token_id: Some(TokenId(Uuid::from_u128(7))),
                action: "application.change".to_owned(),
                target: "target".to_owned(),
                application_id: Some(self.applications[0]),
                details: json!({"number": number, "text": "\0"}),
            };
            store.add_audit(entry).await.unwrap();
        }
    }

    async fn people(&self, store: &dyn Store) {
        let id = AccountId(Uuid::from_u128(1));
        let account = Account {
            id,
            name: "anna".to_owned(),
            role: Role::Administrator,
            application_id: None,
            password: Some("$argon2id$not$a$password".to_owned()),
            second_factor: Some("totp1 SECRET 7 hash".to_owned()),
            created_at_ms: self.start_ms(),
            disabled_at_ms: None,
            signed_in_at_ms: Some(self.now_ms),
        };
        assert!(store.add_account(account.clone(), None).await.unwrap());
        let second = Account {
            id: AccountId(Uuid::from_u128(2)),
            name: "boris".to_owned(),
            role: Role::Analyst,
            application_id: Some(self.applications[1]),
            disabled_at_ms: Some(self.now_ms),
            ..account
        };
        assert!(store.add_account(second, None).await.unwrap());
        let identity = Identity {
            issuer: "https://id.example".to_owned(),
            subject: "anna-7".to_owned(),
        };
        assert!(store.add_identity(identity, id).await.unwrap());
        let filter = SavedFilter {
            id: FilterId(Uuid::from_u128(3)),
            owner: id,
            name: "blocked".to_owned(),
            query: "verdict=blocked".to_owned(),
            is_shared: true,
            created_at_ms: self.start_ms(),
        };
        store.keep_filter(filter).await.unwrap();
    }

    async fn records(&self, store: &dyn Store, data_dir: &Path, removed: ApplicationId) {
        let blobs = BlobStore::local(&data_dir.join("blobs")).unwrap();
        let mut number = 0;
        for day in 0..DAYS {
            for exchange in 0..EXCHANGES {
                let all = self.applications.iter().chain([&removed]);
                for (place, application) in all.enumerate() {
                    let base = NewRecord {
                        application_id: *application,
                        ..a_record(place, exchange)
                    };
                    // The clock was set back for a while on each tenth day.
                    let set_back = if day % 10 == 9 && exchange == 1 {
                        3 * 3_600_000
                    } else {
                        0
                    };
                    let at_ms = self.start_ms() + day * DAY_MS + exchange * 7_200_000 - set_back;
                    let mut first = None;
                    for stage in [Stage::PreCall, Stage::PostCall] {
                        number += 1;
                        let mut record = base.clone();
                        record.stage = stage;
                        record.created_at_ms = at_ms;
                        record.exchange_id = Some(format!("{day}-{exchange}-{place}\0"));
                        record.chain = chain(number);
                        record.answer.request_id = RecordId::random();
                        let id = store.insert(record).await.unwrap().request_id;
                        first = first.or(Some(id));
                    }
                    // Two contents are of one user's files only.
                    let contents = [None, Some(day % 5), Some(day % 3)];
                    let content = contents[usize::try_from(exchange).unwrap()];
                    if let (Some(content), Some(first)) = (content, first) {
                        attach(store, &blobs, first, content).await;
                    }
                }
            }
        }
        // The same number under another record, and a record without exchange, gateway and user.
        let mut repeated = a_record(0, 0);
        repeated.application_id = self.applications[0];
        repeated.created_at_ms = self.now_ms;
        repeated.chain = chain(4);
        store.insert(repeated.clone()).await.unwrap();
        repeated.chain = None;
        repeated.user_id = None;
        repeated.session_id = None;
        repeated.answer.request_id = RecordId::random();
        repeated.inline_rules = Some(json!({"pre": {"dataclean": {}}}));
        store.insert(repeated).await.unwrap();
    }
}

/// Of two gateways in turn; one number never arrived.
fn chain(number: u64) -> Option<ChainEntry> {
    let sequence = number.div_ceil(2) + u64::from(number > 50);
    let hash = |number: u64| {
        let mut hash = [9; 32];
        hash[..8].copy_from_slice(&number.to_le_bytes());
        ChainHash(hash)
    };
    Some(ChainEntry {
        gateway: Uuid::from_u128(100 + u128::from(number % 2)),
        sequence,
        previous: hash(sequence - 1),
        link: hash(sequence),
        after: (number == 90).then(|| sequence - 3),
    })
}

pub(crate) fn a_record(place: usize, exchange: i64) -> NewRecord {
    let users = ["gone", ODD_USER, "boris"];
    let user = users[usize::try_from(exchange).unwrap() % users.len()];
    let mut answer = answer();
    answer.tokens.count = 11 + place as u64;
    answer.tokens.usage_severity = (exchange == 2).then_some(Severity::High);
    answer.guardrails.flagged = exchange == 1;
    answer.dataclean.flagged = place == 0;
    answer.dataclean.cleaned_text = Some(Arc::from("text\\N \0 \u{10FFFF}\t\r\n конец"));
    answer.timings.total_us = 1_000 + place as u64;
    if place == 0 {
        answer.dataclean.types = vec![found("EMAILS", 2), of_its_own()];
    }
    NewRecord {
        application_id: ApplicationId::random(),
        stage: Stage::PreCall,
        exchange_id: None,
        tool: None,
        user_id: Some(user.to_owned()),
        session_id: Some(format!("session {exchange}\0")),
        created_at_ms: 0,
        rules_version: Some(1),
        inline_rules: None,
        tool_parts: monitor_model::CheckedParts::default(),
        blocked: exchange == 1,
        unchecked: exchange == 2,
        found_values: Vec::new(),
        message: (place == 1).then(|| Arc::from("the original \0")),
        additional_parameters: parameters(place),
        chain: None,
        cost: Some(a_cost(place)),
        call: None,
        token: None,
        answer,
    }
}

fn a_cost(place: usize) -> CallCost {
    let numbers = [Some(10), Some(3), None, Some(5), None, Some(15)];
    let has_price = place != 1;
    CallCost {
        model: Some(format!("m-{place}\0")),
        usage: Usage {
            tokens: CallTokens::from_array(numbers),
            estimated: place == 2,
        },
        priced: Some(match place {
            0 => Priced::Priced,
            1 => Priced::Unpriced,
            _ => Priced::Estimated,
        }),
        amount: has_price.then(|| Amount::of_parts(0, 999_999_999_999)),
        currency: has_price.then(|| "EUR".to_owned()),
        counted_as: SumNames {
            model: (place == 2).then(|| "m-*".to_owned()),
            user: None,
        },
    }
}

fn of_its_own() -> TypeCount {
    found("ЗАКАЗ\0", 1)
}

fn parameters(place: usize) -> serde_json::Map<String, Value> {
    let parameters = json!({"place": place, "odd": "\0\\"});
    parameters.as_object().unwrap().clone()
}

/// Writes and links a file; five contents go round.
async fn attach(store: &dyn Store, blobs: &BlobStore, id: RecordId, content: i64) {
    let bytes = content_of(content);
    let mut upload = blobs.begin().await.unwrap();
    upload.write(bytes.clone().into()).await.unwrap();
    let received = upload.finish().await.unwrap();
    let ticket = store
        .claim_blob(received.hash, received.size, 7)
        .await
        .unwrap();
    blobs.keep(&received).await.unwrap();
    let (hash, size) = (received.hash, received.size);
    received.discard().await;
    let seq = store.record(id).await.unwrap().unwrap().summary.seq;
    let attachment = Attachment {
        hash,
        name: format!("имя\0 {content}.txt"),
        kind: "text/plain".to_owned(),
        size,
        kept: true,
        findings: Findings {
            scanned: Scanned::Whole,
            extraction: None,
            types: vec![found("EMAILS", 1)],
        },
        attached_at_ms: 1_700_000_000_000 + content,
    };
    let new = NewAttachment {
        to: AttachTarget::Record(seq),
        ticket,
        attachment,
    };
    store.attach(new).await.unwrap();
}

/// One is empty, and one takes several parts of an archive.
fn content_of(number: i64) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        1 => (0..3_000_001_u32).map(|at| at.to_le_bytes()[1]).collect(),
        other => format!("file {other}, mail a{other}@b.example").into_bytes(),
    }
}

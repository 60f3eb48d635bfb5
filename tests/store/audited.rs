//! A change and its line in the audit log are written together or not at all.

use crate::accounts::added;
use monitor_model::ApplicationId;
use monitor_store::{
    AccountChange, AccountId, ApplicationFilter, AuditEntry, AuditFilter, Changed, Erasure, Role,
    SecretHash, StoreError, TokenChange, TokenHash, TokenId, TokenRotation,
};
use serde_json::json;
use support::bed::{Bed, MORNING_MS, application, token};
use uuid::Uuid;

/// Every method that takes a line.
const CHANGES: [&str; 11] = [
    "add_token",
    "change_token",
    "rotate_token",
    "add_account",
    "change_account",
    "add_link",
    "add_application",
    "change_application",
    "remove_application",
    "add_tombstone",
    "remove_tombstone",
];
const OLD: TokenHash = TokenHash([1; 32]);
const LINK: SecretHash = SecretHash([1; 32]);

fn line(action: &str) -> AuditEntry {
    AuditEntry {
        seq: 0,
        at_ms: MORNING_MS,
        actor: "who did it".to_owned(),
        token_id: None,
        action: action.to_owned(),
        target: "what was changed".to_owned(),
        application_id: None,
        details: json!({}),
    }
}

fn erasure(user: &str) -> Erasure {
    Erasure {
        id: Uuid::new_v4(),
        user_id: user.to_owned(),
        application_id: None,
        at_ms: MORNING_MS,
    }
}

/// What there is to change.
struct World<'b> {
    bed: &'b Bed,
    token: TokenId,
    account: AccountId,
    other: ApplicationId,
    tombstone: Uuid,
}

impl<'b> World<'b> {
    async fn new(bed: &'b Bed) -> Self {
        let old = token("old", None);
        let id = old.id;
        bed.store.add_token(OLD, old, None).await.unwrap();
        let tombstone = bed.store.add_tombstone(&erasure("anna"), None).await;
        Self {
            bed,
            token: id,
            account: added(bed, "ann").await.id,
            other: bed.add_application("other").await,
            tombstone: tombstone.unwrap(),
        }
    }

    async fn make(&self, change: &str) -> Result<(), StoreError> {
        let store = &self.bed.store;
        let audit = Some(line(change));
        let is_made = match change {
            "add_token" => {
                let new = token("new", None);
                store.add_token(TokenHash([2; 32]), new, audit).await?;
                true
            }
            "change_token" => {
                let rename = TokenChange {
                    name: Some("renamed".to_owned()),
                    ..TokenChange::default()
                };
                let changed = store.change_token(self.token, rename, audit).await?;
                changed.is_some()
            }
            "rotate_token" => store.rotate_token(self.rotation(), audit).await?,
            "add_account" => {
                let new = crate::accounts::account("new");
                store.add_account(new, audit).await?
            }
            "change_account" => {
                let promote = AccountChange {
                    role: Some(Role::Administrator),
                    ..AccountChange::default()
                };
                let changed = store.change_account(self.account, promote, audit).await?;
                changed.is_some()
            }
            "add_link" => {
                store.add_link(LINK, self.account, 100, audit).await?;
                true
            }
            "add_application" => {
                let new = application(ApplicationId::random(), "new");
                store.add_application(new, "who made it", audit).await?;
                true
            }
            "change_application" => {
                let changed = self.bed.change(1, "changed");
                let changed = store.change_application(changed, audit).await?;
                changed == Changed::Done(2)
            }
            "remove_application" => {
                let removed = store.remove_application(self.other, 1, audit).await?;
                removed == Changed::Done(1)
            }
            "add_tombstone" => {
                store.add_tombstone(&erasure("boris"), audit).await?;
                true
            }
            "remove_tombstone" => store.remove_tombstone(self.tombstone, audit).await?,
            other => unreachable!("{other}"),
        };
        assert!(is_made, "{change}");
        Ok(())
    }

    fn rotation(&self) -> TokenRotation {
        TokenRotation {
            old: self.token,
            old_ends_at_ms: MORNING_MS + 9,
            hash: TokenHash([3; 32]),
            new: token("rotated", None),
        }
    }

    /// Everything that the changes change.
    async fn state(&self) -> String {
        let store = &self.bed.store;
        let tokens = store.tokens(None, None, 100).await.unwrap();
        let accounts = store.accounts(None, 100).await.unwrap();
        let accounts: Vec<_> = accounts.iter().map(|one| (&one.name, one.role)).collect();
        let link = store.link(LINK, 0).await.unwrap();
        let filter = ApplicationFilter {
            limit: 100,
            ..ApplicationFilter::default()
        };
        let applications = store.applications(&filter).await.unwrap().applications;
        let (anna, boris) = (
            self.is_refused("anna").await,
            self.is_refused("boris").await,
        );
        format!("{tokens:?} {accounts:?} {link:?} {applications:?} {anna} {boris}")
    }

    async fn is_refused(&self, user: &str) -> bool {
        let mut record = self.bed.record();
        record.user_id = Some(user.to_owned());
        match self.bed.store.insert(record).await {
            Ok(_) => false,
            Err(StoreError::Erased) => true,
            Err(other) => panic!("{other}"),
        }
    }

    /// The actions of the log, oldest first.
    async fn log(&self) -> Vec<String> {
        let filter = AuditFilter {
            limit: 100,
            ..AuditFilter::default()
        };
        let lines = self.bed.store.audit(&filter).await.unwrap();
        lines.into_iter().rev().map(|line| line.action).collect()
    }
}

pub(crate) async fn a_change_is_kept_with_its_line_and_not_without_it(bed: &Bed) {
    let world = World::new(bed).await;
    let table = bed.database.audit_table();
    let before = world.state().await;
    let takes_away = format!("ALTER TABLE {table} RENAME TO audit_away");
    bed.database.execute(&takes_away).await;
    for change in CHANGES {
        let made = world.make(change).await;
        assert!(made.is_err(), "{change} without its line");
        assert_eq!(world.state().await, before, "{change} is not kept");
    }
    let gives_back = format!("ALTER TABLE audit_away RENAME TO {table}");
    bed.database.execute(&gives_back).await;
    assert_eq!(world.log().await, Vec::<String>::new());
    let mut before = before;
    for (number, change) in CHANGES.iter().enumerate() {
        world.make(change).await.unwrap();
        let after = world.state().await;
        assert_ne!(after, before, "{change} is kept");
        assert_eq!(world.log().await, CHANGES[..=number], "{change}");
        before = after;
    }
}

pub(crate) async fn a_change_that_is_none_leaves_no_line(bed: &Bed) {
    let world = World::new(bed).await;
    let store = &bed.store;
    let before = world.state().await;
    let audit = || Some(line("none"));
    let (nobody, nowhere) = (TokenId(Uuid::new_v4()), ApplicationId::random());
    let known = store.add_token(OLD, token("later", None), audit()).await;
    known.unwrap();
    let change = TokenChange::default();
    let unknown = store.change_token(nobody, change, audit()).await.unwrap();
    assert!(unknown.is_none());
    let rotation = TokenRotation {
        old: nobody,
        ..world.rotation()
    };
    assert!(!store.rotate_token(rotation, audit()).await.unwrap());
    let taken = crate::accounts::account("ann");
    assert!(!store.add_account(taken, audit()).await.unwrap());
    let change = AccountChange {
        role: Some(Role::Developer),
        if_password: Some("another one".to_owned()),
        ..AccountChange::default()
    };
    let other = store.change_account(world.account, change, audit()).await;
    assert!(other.unwrap().is_none());
    let link = store.add_link(LINK, AccountId(nowhere.0), 100, audit());
    assert!(link.await.is_err(), "the link of nobody");
    let again = application(bed.application, "again");
    let again = store.add_application(again, "who made it", audit()).await;
    assert!(again.is_err(), "the identifier is taken");
    let late = store.change_application(bed.change(7, "late"), audit());
    assert_eq!(late.await.unwrap(), Changed::Conflict(1));
    let late = store.remove_application(world.other, 7, audit()).await;
    assert_eq!(late.unwrap(), Changed::Conflict(1));
    let unknown = store.remove_application(nowhere, 1, audit()).await;
    assert_eq!(unknown.unwrap(), Changed::Unknown);
    let unknown = store.remove_tombstone(nowhere.0, audit()).await;
    assert!(!unknown.unwrap());
    assert_eq!(world.state().await, before);
    assert_eq!(world.log().await, Vec::<String>::new());
}

pub(crate) async fn the_line_of_an_erasure_names_the_tombstone_in_force(bed: &Bed) {
    let world = World::new(bed).await;
    let erasure = erasure("anna");
    let again = bed.store.add_tombstone(&erasure, Some(line("again")));
    assert_eq!(again.await.unwrap(), world.tombstone);
    let filter = AuditFilter {
        limit: 9,
        ..AuditFilter::default()
    };
    let lines = bed.store.audit(&filter).await.unwrap();
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].target, world.tombstone.to_string());
}

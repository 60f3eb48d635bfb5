//! Everything that a store shows through its traits, as lines that can be compared whichever engine it is. Positions
//! differ between engines, and so do the bytes that they count for a record.

use monitor_model::{Policy, PolicyProblems};
use monitor_store::{
    AccountId, ApplicationFilter, AuditFilter, ChainFilter, CostFilter, CostGroups, PostgresStore,
    RecordFilter, RetentionLimits, SessionFilter, SqliteStore, StatisticsFilter, Store,
    StoreEngine, TokenHash,
};
use std::path::Path;
use support::postgres::Database;
use uuid::Uuid;

/// Lines of each subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) lines: Vec<String>,
    /// What the engine counts for all records.
    pub(crate) bytes: u64,
    pub(crate) records: usize,
    pub(crate) files: usize,
}

impl Picture {
    /// Of the SQLite file in a data folder.
    pub(crate) async fn of_folder(data_dir: &Path) -> Self {
        let store = SqliteStore::open(&data_dir.join("monitor.db"))
            .await
            .unwrap();
        let picture = Self::of(&store).await;
        store.close().await;
        picture
    }

    pub(crate) async fn of_database(database: &Database) -> Self {
        let store = PostgresStore::open(&database.settings()).await.unwrap();
        let picture = Self::of(&store).await;
        store.close().await;
        picture
    }

    /// After housekeeping, which clears what a removed application left.
    pub(crate) async fn of(store: &dyn Store) -> Self {
        let mut picture = Self::default();
        let now = std::time::SystemTime::now();
        let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
        let now_ms = i64::try_from(now.as_millis()).unwrap();
        let limits = RetentionLimits::default();
        store
            .enforce_retention(None, limits, now_ms)
            .await
            .complete()
            .unwrap();
        picture.settings(store).await;
        picture.people(store).await;
        picture.records(store).await;
        picture.counts(store).await;
        picture
    }

    /// The lines of which one starts so.
    pub(crate) fn lines_of<'p>(&'p self, subject: &'p str) -> impl Iterator<Item = &'p String> {
        self.lines
            .iter()
            .filter(move |line| line.starts_with(subject))
    }

    /// As a schema has it that does not know what passed without a verdict.
    pub(crate) fn without_unchecked(mut self) -> Self {
        // Of records, and of the hours of all applications and of the first one.
        let unchecked = self.lines_of("passed unchecked").count();
        assert!(unchecked >= 3, "there were such records");
        self.lines
            .retain(|line| !line.starts_with("passed unchecked"));
        self
    }

    /// As a schema has it whose policies have all arguments of tool calls checked.
    pub(crate) fn without_unchecked_arguments(mut self) -> Self {
        // Of the application, of a version of it, and of its policy.
        let unchecked = self.lines_of("unchecked arguments").count();
        assert!(unchecked >= 3, "there were such policies");
        self.lines
            .retain(|line| !line.starts_with("unchecked arguments"));
        self
    }

    /// Fails with the first line that differs.
    #[track_caller]
    pub(crate) fn assert_same(&self, other: &Self) {
        for (one, other) in self.lines.iter().zip(&other.lines) {
            assert_eq!(one, other);
        }
        assert_eq!(self.lines.len(), other.lines.len());
    }

    fn add(&mut self, subject: &str, values: impl IntoIterator<Item = String>) {
        let lines = values
            .into_iter()
            .map(|value| format!("{subject}: {value}"));
        self.lines.extend(lines);
    }

    async fn settings(&mut self, store: &dyn Store) {
        let filter = ApplicationFilter {
            limit: 100,
            ..ApplicationFilter::default()
        };
        let page = store.applications(&filter).await.unwrap();
        for mut application in page.applications {
            self.take_unchecked(application.policy.as_mut());
            self.add("application", [format!("{application:?}")]);
            let versions = store.application_versions(application.id, None, 100).await;
            let mut versions = versions.unwrap();
            for version in &mut versions {
                let policy = version.policy.as_mut().and_then(|it| it.as_object_mut());
                let checks = policy.and_then(|policy| policy.remove("check_tool_arguments"));
                self.add("unchecked arguments", checks.map(|it| it.to_string()));
            }
            self.add("version", [format!("{versions:?}")]);
        }
        let mut policies = store.policies().await.unwrap();
        for stored in &mut policies {
            self.take_unchecked(Some(&mut stored.policy));
        }
        let mut policies: Vec<_> = policies
            .iter()
            .map(|policy| format!("{policy:?}"))
            .collect();
        policies.sort();
        self.add("policy", policies);
        let mut tokens = store.tokens(None, None, 100).await.unwrap();
        for first in tokens.iter_mut().filter(|token| token.name == "first") {
            // A server notes uses of its own key a moment later.
            first.last_used_at_ms = None;
        }
        self.add("token", tokens.iter().map(|token| format!("{token:?}")));
        let hashed = store.token(&TokenHash([0; 32])).await.unwrap();
        self.add("token of a hash", [format!("{hashed:?}")]);
        self.add(
            "tokens were made",
            [store.has_tokens().await.unwrap().to_string()],
        );
        let filter = AuditFilter {
            limit: 1_000,
            ..AuditFilter::default()
        };
        let audit = store.audit(&filter).await.unwrap();
        self.add("audit", audit.iter().map(|entry| format!("{entry:?}")));
    }

    /// Arguments that are not checked have lines of their own: older schemas lack them.
    fn take_unchecked(&mut self, policy: Option<&mut Result<Policy, PolicyProblems>>) {
        if let Some(Ok(policy)) = policy {
            let checks = std::mem::replace(&mut policy.check_tool_arguments, true);
            self.add("unchecked arguments", (!checks).then(|| checks.to_string()));
        }
    }

    async fn people(&mut self, store: &dyn Store) {
        let accounts = store.accounts(None, 100).await.unwrap();
        self.add(
            "account",
            accounts.iter().map(|account| format!("{account:?}")),
        );
        let filters = store.saved_filters(AccountId(Uuid::from_u128(1)), None);
        let filters = filters.await.unwrap();
        self.add("filter", filters.iter().map(|filter| format!("{filter:?}")));
        let identity = monitor_store::Identity {
            issuer: "https://id.example".to_owned(),
            subject: "anna-7".to_owned(),
        };
        let known = store.account_of(&identity).await.unwrap();
        self.add(
            "identity",
            [format!("{:?}", known.map(|account| account.name))],
        );
    }

    async fn records(&mut self, store: &dyn Store) {
        let mut filter = RecordFilter {
            limit: 100,
            ..RecordFilter::default()
        };
        let (mut lines, mut costs, mut unchecked) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            let page = store.whole_page(&filter).await.unwrap();
            for mut record in page.records {
                let files = store.attachments(record.summary.seq).await.unwrap();
                self.files += files.len();
                self.bytes += record.summary.bytes;
                record.summary.seq = 0;
                record.summary.bytes = 0;
                let cost = record.summary.cost.take();
                costs.extend(cost.map(|cost| format!("{} {cost:?}", record.summary.id)));
                if std::mem::take(&mut record.summary.unchecked) {
                    unchecked.push(record.summary.id.to_string());
                }
                let at = record.summary.created_at_ms;
                lines.push(format!("{at} {record:?} {files:?}"));
            }
            filter.before = page.next_before;
            if filter.before.is_none() {
                break;
            }
        }
        self.records = lines.len();
        // Engines order records of one time, and those of a clock that was set back, in their own way.
        lines.sort();
        self.add("record", lines);
        costs.sort();
        self.add("cost of a record", costs);
        unchecked.sort();
        self.add("passed unchecked", unchecked);
        let filter = SessionFilter {
            limit: 1_000,
            ..SessionFilter::default()
        };
        let sessions = store.sessions(&filter).await.unwrap();
        let mut sessions: Vec<_> = sessions.iter().map(|one| format!("{one:?}")).collect();
        sessions.sort();
        self.add("session", sessions);
        for kind in ["EMAILS", "ЗАКАЗ\0"] {
            let filter = RecordFilter {
                kind: Some(kind.to_owned()),
                limit: 200,
                ..RecordFilter::default()
            };
            let found = store.page(&filter).await.unwrap().records.len();
            self.add("records of a kind", [format!("{kind} {found}")]);
        }
    }

    async fn counts(&mut self, store: &dyn Store) {
        let whole = StatisticsFilter::whole((0, i64::from(u32::MAX)));
        let mut days: Vec<_> = store.statistics(&whole).await.unwrap();
        days.iter_mut()
            .for_each(|day| day.types.sort_by(|one, other| one.kind.cmp(&other.kind)));
        let mut days: Vec<_> = days.iter().map(|day| format!("{day:?}")).collect();
        days.sort();
        self.add("day", days);
        let costs = CostFilter {
            application_id: None,
            user_id: None,
            model: None,
            days: whole.days,
            groups: CostGroups {
                application: true,
                user: true,
                model: true,
                day: true,
            },
            limit: 10_000,
        };
        let costs = store.costs(&costs).await.unwrap();
        let mut costs: Vec<_> = costs.iter().map(|sum| format!("{sum:?}")).collect();
        costs.sort();
        self.add("cost", costs);
        let hours = (0, i64::from(u32::MAX));
        let first = store.first_application().await.unwrap();
        for application in [None, first.map(|first| first.id)] {
            let mut traffic = store.traffic(application, hours).await.unwrap();
            for hour in &mut traffic {
                let unchecked = std::mem::take(&mut hour.unchecked);
                let told = (unchecked > 0).then(|| format!("{} {unchecked}", hour.hour));
                self.add("passed unchecked", told);
            }
            self.add("hour", traffic.iter().map(|hour| format!("{hour:?}")));
            let types = store.traffic_types(application, hours, 100).await.unwrap();
            self.add("traffic", [format!("{types:?}")]);
        }
        let filter = ChainFilter {
            from: 1,
            limit: 10,
            ..ChainFilter::default()
        };
        let chains = store.chains(&filter).await.unwrap();
        self.add(
            "chain",
            chains.gateways.iter().map(|state| format!("{state:?}")),
        );
        let gateways = store.gateways(10).await.unwrap();
        self.add(
            "gateway",
            gateways.iter().map(|gateway| format!("{gateway:?}")),
        );
    }
}

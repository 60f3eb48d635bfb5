//! The services of the analysis server, built in one place; both front ends and the gateway of `monitor all`
//! call them. Each service gets the store traits that it uses, not the whole store.

use super::access::read_turns::ReadTurns;
use super::access::token_cache::TokenCache;
use super::access::{Access, AccessLimits};
use super::admin::{Admin, InForce, KeyLocks};
use super::alerts::{AlertTask, Alerts, BudgetSources};
use super::audit::AuditLog;
use super::budgets::{BudgetBoard, BudgetTask, Counting};
use super::clock::now_ms;
use super::found_values::ValueKeys;
use super::ingest::HeldSince;
use super::ingest::Ingest;
use super::ingest::analyzer::{AnalyzerLimits, MessageAnalyzer};
use super::ingest::application_cache::ApplicationCache;
use super::ingest::cache_invalidation::CacheInvalidation;
use super::ingest::compilation::Compilations;
use super::ingest::gateways::registry::GatewayRegistry;
use super::ingest::gateways::reports::GatewayReports;
use super::ingest::inline_rules::InlineRulesCache;
use super::ingest::models::Models;
use super::ingest::pricing::names::CostNames;
use super::people::People;
use super::people::kept_forms::KeptForms;
use super::people::refused_sign_ins::RefusedSignIns;
use super::people::sign_in_limits::SignInLimits;
use super::records::files::Files;
use super::records::files::file_room::FileRoom;
use super::records::files::upload_room::UploadRoom;
use super::records::{Records, documents};
use super::rules::file_policies::FilePolicies;
use super::siem::SiemTasks;
use super::start_error::StartError;
use super::startup::{self, FirstRun};
use super::store_health::StoreProbe;
use crate::config::{AlertSettings, AnalysisSettings, Prices};
use crate::judge::Remote;
use crate::observe::Metrics;
use crate::policy::BudgetCount;
use arc_swap::ArcSwap;
use monitor_store::{Store, VersionLimits};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a start waits for the first count of budgets; the counting goes on behind it.
const FIRST_COUNT: Duration = Duration::from_secs(5);

/// The analysis server without its front ends.
pub struct Services {
    /// Who may call.
    pub access: Arc<Access>,
    /// Messages in, verdicts and records out.
    pub ingest: Ingest,
    /// Applications, tokens, trials and replays.
    pub admin: Admin,
    /// Accounts and sign-ins of the web UI.
    pub people: People,
    /// What is stored.
    pub records: Records,
    /// The settings it was started with, which the status page shows.
    pub(super) settings: AnalysisSettings,
    pub(super) started: Instant,
    pub(crate) store_probe: StoreProbe,
    store: Arc<dyn Store>,
    invalidation: CacheInvalidation,
    /// What gateways say about themselves, to whichever server.
    pub(super) gateway_reports: GatewayReports,
    budgets: BudgetTask,
    /// What fires, and who is told.
    pub(super) alerts: Arc<Alerts>,
    alert_task: AlertTask,
    pub(super) siem: SiemTasks,
}

impl Services {
    /// Opens the store in `data_dir` (folder 0700, file 0600), brings its schema up to date and, at
    /// the first start, makes an application and a token. The store's writer runs on the calling
    /// runtime, which has to outlive the services.
    ///
    /// # Errors
    /// [`StartError`] when a folder or the store cannot be made, opened or written.
    pub async fn open(
        settings: &AnalysisSettings,
        data_dir: &Path,
    ) -> Result<(Arc<Self>, FirstRun), StartError> {
        Self::open_with(settings, data_dir, Remote::default()).await
    }

    /// Like [`Services::open`], with remote checks besides the engine.
    ///
    /// # Errors
    /// [`StartError`] when a folder, the store or a model cannot be made, opened or written.
    pub async fn open_with(
        settings: &AnalysisSettings,
        data_dir: &Path,
        remote: Remote,
    ) -> Result<(Arc<Self>, FirstRun), StartError> {
        let store: Arc<dyn Store> = startup::open_store(settings, data_dir).await?;
        let tokens = Arc::new(TokenCache::new(store.clone()));
        let first_run = startup::first_run(&*store, &tokens, settings).await?;
        let shared = Shared::new(store, tokens, settings, remote)?;
        shared.value_keys.read(now_ms()).await?;
        let services = Self {
            ingest: shared.ingest(settings),
            records: shared.records(settings, data_dir)?,
            people: shared.people(settings)?,
            admin: shared.admin(settings),
            invalidation: CacheInvalidation::start(
                shared.store.clone(),
                shared.applications.clone(),
                shared.tokens.clone(),
            ),
            gateway_reports: GatewayReports::start(shared.gateways, shared.store.clone()),
            budgets: BudgetTask::default(),
            alerts: Arc::new(Alerts::new(
                &shared.store,
                settings,
                shared.analyzer.remote.metrics().cloned(),
                BudgetSources {
                    board: shared.budgets.clone(),
                    file_policies: shared.file_policies.clone(),
                },
            )),
            alert_task: AlertTask::default(),
            siem: SiemTasks::new(shared.store.clone()),
            access: shared.access,
            settings: settings.clone(),
            started: Instant::now(),
            store_probe: StoreProbe::new(shared.store.clone()),
            store: shared.store,
        };
        services.set_prices(&settings.prices);
        Ok((Arc::new(services), first_run))
    }

    /// Counts what is spent of budgets until the shutdown; once, for at most [`FIRST_COUNT`], before this returns. For
    /// servers: a command that ends at once counts nothing.
    pub(crate) async fn count_budgets(&self) {
        let counting = Counting::new(
            self.store.clone(),
            self.admin.file_policies.clone(),
            self.store.clone(),
            self.admin.budgets.clone(),
        );
        self.budgets.start(counting, FIRST_COUNT).await;
    }

    /// Looks at the rules of alerts and tells their channels until the shutdown. For servers, like
    /// [`Services::count_budgets`]: a command that ends at once tells nobody.
    pub(crate) fn start_alerts(&self) {
        self.alert_task.start(&self.alerts);
    }

    /// Sends events to the destinations of the settings until the shutdown. For servers, since a command
    /// that ends at once sends nothing.
    ///
    /// # Errors
    /// When the store cannot be written, or a destination's settings cannot be used.
    pub(crate) async fn send_events(&self, metrics: &Arc<Metrics>) -> io::Result<()> {
        self.siem.start(&self.settings, metrics).await
    }

    /// How old the count of this process is.
    pub(crate) fn budget_count(&self) -> BudgetCount {
        self.admin.budgets.count()
    }

    /// Takes other prices for the records that come in from now on.
    pub(crate) fn set_prices(&self, prices: &Prices) {
        self.ingest.set_prices(prices);
    }

    /// Takes other rules and channels of the configuration file, and other addresses that channels may have.
    pub(crate) fn set_alerts(&self, settings: &AlertSettings) {
        self.alerts.set(settings.clone());
    }

    /// Writes what is queued and closes the store. Calls after it get [`super::ApiError::StoreDown`].
    pub async fn shutdown(&self) {
        self.invalidation.stop().await;
        self.budgets.stop().await;
        self.alert_task.stop(&self.alerts).await;
        self.siem.stop().await;
        self.gateway_reports.stop().await;
        self.people.refused_sign_ins.stop().await;
        self.store.close().await;
    }

    /// The store, for tests that look at what was stored.
    #[cfg(test)]
    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }
}

/// What several services share.
struct Shared {
    store: Arc<dyn Store>,
    tokens: Arc<TokenCache>,
    applications: Arc<ApplicationCache>,
    file_policies: Arc<FilePolicies>,
    analyzer: Arc<MessageAnalyzer>,
    compilations: Arc<Compilations>,
    inline_rules: Arc<InlineRulesCache>,
    audit: AuditLog,
    access: Arc<Access>,
    reads: Arc<ReadTurns>,
    budgets: Arc<BudgetBoard>,
    gateways: Arc<GatewayRegistry>,
    value_keys: Arc<ValueKeys>,
}

impl Shared {
    fn new(
        store: Arc<dyn Store>,
        tokens: Arc<TokenCache>,
        settings: &AnalysisSettings,
        remote: Remote,
    ) -> Result<Self, StartError> {
        let models = Models::read(&settings.detect)?;
        let limits = AnalyzerLimits {
            queue: settings.queue,
            analyzed_bytes: settings.analyzed_bytes,
        };
        let compilations = Compilations::new(settings.queue, remote.metrics().cloned());
        let analyzer = MessageAnalyzer::new(settings.services, models, remote, limits);
        let access = Access::new(
            tokens.clone(),
            AccessLimits {
                requests_per_second: settings.requests_per_second,
                application_changes: settings.limits.application_changes,
            },
        );
        let access = Arc::new(access);
        let file_policies = Arc::new(FilePolicies::default());
        let applications =
            ApplicationCache::new(store.clone(), file_policies.clone(), compilations.clone());
        let reads = ReadTurns::new(store.pool().limit, settings.queue.longest_wait);
        Ok(Self {
            reads: Arc::new(reads),
            applications: Arc::new(applications),
            file_policies,
            audit: AuditLog::new(store.clone(), access.clone()),
            analyzer: Arc::new(analyzer),
            inline_rules: Arc::new(InlineRulesCache::new(compilations.clone())),
            compilations,
            access,
            tokens,
            value_keys: Arc::new(ValueKeys::new(store.clone())),
            store,
            budgets: Arc::default(),
            gateways: Arc::default(),
        })
    }

    fn ingest(&self, settings: &AnalysisSettings) -> Ingest {
        Ingest {
            records: self.store.clone(),
            exchanges: self.store.clone(),
            removal: self.store.clone(),
            access: self.access.clone(),
            applications: self.applications.clone(),
            analyzer: self.analyzer.clone(),
            inline_rules: self.inline_rules.clone(),
            prices: ArcSwap::default(),
            cost_names: Arc::new(CostNames::new(
                self.store.clone(),
                self.analyzer.remote.metrics().cloned(),
            )),
            max_body: settings.max_body,
            gateways: self.gateways.clone(),
            held_since: HeldSince::default(),
            budgets: self.budgets.clone(),
            value_keys: self.value_keys.clone(),
        }
    }

    fn records(&self, settings: &AnalysisSettings, data_dir: &Path) -> Result<Records, StartError> {
        Ok(Records {
            records: self.store.clone(),
            exchanges: self.store.clone(),
            findings: self.store.clone(),
            accounts: self.store.clone(),
            applications: self.store.clone(),
            statistics: self.store.clone(),
            chain: self.store.clone(),
            tombstones: self.store.clone(),
            removal: self.store.clone(),
            saved_filters: self.store.clone(),
            engine: self.store.clone(),
            access: self.access.clone(),
            reads: self.reads.clone(),
            audit: self.audit.clone(),
            files: Files {
                blobs: startup::open_blobs(settings, data_dir)?,
                store: self.store.clone(),
                limits: settings.attachments,
            },
            room: Arc::new(FileRoom::new(settings.retention.bytes)),
            uploads: UploadRoom::new(settings.attachments.uploading_bytes),
            documents: documents::Reader::default(),
            application_cache: self.applications.clone(),
            analyzer: self.analyzer.clone(),
            budgets: self.budgets.clone(),
            value_keys: self.value_keys.clone(),
            new_value_keys: self.store.clone(),
        })
    }

    fn people(&self, settings: &AnalysisSettings) -> Result<People, StartError> {
        Ok(People {
            accounts: self.store.clone(),
            sign_ins: self.store.clone(),
            applications: self.store.clone(),
            oidc: startup::open_provider(settings)?,
            require_second_factor: settings.require_second_factor,
            refused_sign_ins: RefusedSignIns::start(self.store.clone()),
            limits: SignInLimits::new(self.store.clone()),
            kept_forms: Arc::new(KeptForms::new()),
        })
    }

    fn admin(&self, settings: &AnalysisSettings) -> Admin {
        Admin {
            application_keys: settings.limits.application_keys,
            key_locks: KeyLocks::new(settings.queue.longest_wait),
            keep_versions: VersionLimits {
                versions: settings.limits.application_versions,
                bytes: settings.limits.application_version_bytes,
            },
            applications: self.store.clone(),
            policies: self.store.clone(),
            tokens: self.store.clone(),
            records: self.store.clone(),
            accounts: self.store.clone(),
            audit: self.audit.clone(),
            reads: self.reads.clone(),
            file_policies: self.file_policies.clone(),
            in_force: InForce::default(),
            budgets: self.budgets.clone(),
            application_cache: self.applications.clone(),
            token_cache: self.tokens.clone(),
            analyzer: self.analyzer.clone(),
            inline_rules: self.inline_rules.clone(),
            compilations: self.compilations.clone(),
        }
    }
}

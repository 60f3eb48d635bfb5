//! Reloading the configuration while calls are in progress (CONTRACT 35): all or nothing, else the last good
//! one stays in force; settings that only a new process can change are named. Calls in progress keep the
//! settings they began with.

pub(crate) mod certificates;
pub(crate) mod clear_text;
mod merge;
mod public_url;

use crate::analysis::Services;
use crate::app::gateway::policies::ListedApplications;
use crate::app::observability::tracing::{Change, Tracing};
use crate::app::process::{descriptors, notify};
use crate::config::{Problems, Role, Settings};
use crate::gateway::{GatewayConfig, GatewayState, UpstreamTlsFiles};
use crate::http_client::{ReloadableTls, TlsMaterial};
use crate::observe::UpgradeResult;
use crate::observe::access::{AccessLog, PreparedLog};
use crate::observe::events::ReloadEnded;
use crate::observe::{Metrics, logging};
use anyhow::{Error, Result, anyhow, bail};
use certificates::{Certificates, LoadedCertificate};
use merge::{merge, named};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Reads the configuration again, from the same sources as at the start.
pub type LoadSettings = Arc<dyn Fn() -> Result<Settings, Problems> + Send + Sync>;

/// What can be changed in a running process.
#[derive(Default)]
pub(crate) struct Reloadable {
    /// None in a process without a gateway.
    pub(crate) gateway_state: Option<Arc<GatewayState>>,
    /// None where the file lists none.
    pub(crate) applications: Option<ListedApplications>,
    pub(crate) certificates: Certificates,
    /// None in a process without a gateway.
    pub(crate) access: Option<Arc<AccessLog>>,
    /// None in a process without a gateway.
    pub(crate) tracing: Option<Arc<Tracing>>,
    /// None where no files are named for connections to the backend.
    pub(crate) backend: Option<Arc<ReloadableTls>>,
    /// None in a process without an analysis server.
    pub(crate) services: Option<Arc<Services>>,
}

/// The configuration in force.
pub(crate) struct Reloads {
    load: LoadSettings,
    role: Role,
    running: Mutex<Settings>,
    parts: OnceLock<Reloadable>,
    metrics: Arc<Metrics>,
    latest: Mutex<Option<Latest>>,
}

/// What a process was started with, and how to read it again.
pub(crate) struct ReloadSource {
    pub(crate) load: LoadSettings,
    pub(crate) role: Role,
    /// The settings as they were given, before listeners got their ports.
    pub(crate) initial: Settings,
}

struct Latest {
    at: SystemTime,
    result: UpgradeResult,
    detail: String,
}

impl Reloads {
    /// With the settings of the start, whose secrets in clear text are warned about.
    pub(crate) fn new(source: ReloadSource, metrics: &Arc<Metrics>) -> Arc<Self> {
        clear_text::warn(&source.initial, source.role, metrics);
        public_url::warn(&source.initial, source.role);
        Arc::new(Self {
            load: source.load,
            role: source.role,
            running: Mutex::new(source.initial),
            parts: OnceLock::new(),
            metrics: metrics.clone(),
            latest: Mutex::default(),
        })
    }

    /// Attaches the running parts that a reload can change.
    pub(crate) fn attach(&self, parts: Reloadable) {
        // A process attaches its parts once.
        let _ = self.parts.set(parts);
    }

    /// Reads the configuration and puts it in force; returns what took effect.
    ///
    /// # Errors
    /// When it is wrong: then nothing has changed, and the text says why.
    pub(crate) fn reload(&self) -> Result<String> {
        let mut running = lock(&self.running);
        notify::reloading();
        let outcome = self.try_reload(&mut running);
        notify::reloaded();
        let (result, detail) = match &outcome {
            Ok(said) => (UpgradeResult::Done, said.clone()),
            Err(error) => (UpgradeResult::Failed, format!("{error:#}")),
        };
        let detail = detail.trim().replace('\n', "; ");
        ReloadEnded {
            result,
            detail: &detail,
        }
        .emit(&self.metrics);
        *lock(&self.latest) = Some(Latest {
            at: SystemTime::now(),
            result,
            detail: detail.clone(),
        });
        match outcome {
            Ok(_) => Ok(detail),
            Err(_) => bail!("{detail}"),
        }
    }

    /// After a take-over: reloads if the configuration has changed since this process read it, and reads
    /// certificates in any case. The previous process may have received a reload meanwhile. A change of
    /// nothing but a secret goes unnoticed, since secrets are not compared.
    pub(crate) fn catch_up(&self) {
        let wanted = (self.load)();
        if wanted.is_ok_and(|wanted| wanted.hash() != self.configuration()) {
            // The result is in the log, in /status and in a metric.
            drop(self.reload());
        } else if let Some(parts) = self.parts.get()
            && let Ok(read) = parts.certificates.read()
        {
            parts.certificates.replace(read);
        }
    }

    /// While another process is about to take over, applications that it creates are unknown to this one, which does not
    /// have their policies.
    pub(crate) fn hold_new_applications(&self, holds: bool) {
        let parts = self.parts.get();
        if let Some(gateway_state) = parts.and_then(|parts| parts.gateway_state.as_ref()) {
            gateway_state.hold_new_applications(holds);
        }
    }

    /// The hash that `monitor check` prints for the settings in force.
    pub(crate) fn configuration(&self) -> String {
        lock(&self.running).hash()
    }

    /// The latest reload, for people; null before the first.
    pub(crate) fn status(&self) -> Value {
        lock(&self.latest).as_ref().map_or(Value::Null, |latest| {
            let at = latest.at.duration_since(UNIX_EPOCH).unwrap_or_default();
            json!({
                "at": at.as_secs(),
                "result": latest.result.as_str(),
                "detail": latest.detail,
            })
        })
    }

    fn try_reload(&self, running: &mut Settings) -> Result<String> {
        let parts = self.parts.get().ok_or_else(|| anyhow!("still starting"))?;
        let wanted = (self.load)().map_err(|problems| anyhow!("{problems}"))?;
        check_keys(running, &wanted)?;
        check_default(running, &wanted)?;
        let (next, waiting) = merge(running, wanted);
        let ready = parts.read(&next, self.role)?;
        // From here on nothing fails.
        parts.replace(&next, ready);
        clear_text::warn(&next, self.role, &self.metrics);
        public_url::warn(&next, self.role);
        *running = next;
        Ok(match waiting.is_empty() {
            true => "everything is in force".to_owned(),
            false => format!(
                "in force but for {}, which needs an upgrade (monitor upgrade)",
                named(&waiting, parts.gateway_state.is_some())
            ),
        })
    }
}

/// Refuses key files that hold other keys than those in use, which the next process would not find.
fn check_keys(running: &Settings, wanted: &Settings) -> Result<()> {
    let [before, now] = [running, wanted].map(|settings| &settings.gateway.spool.encryption);
    now.replaced_since(before).map_or(Ok(()), |replaced| {
        let (path, key) = (replaced.path.display(), replaced.key);
        bail!(
            "spool.encryption: {path} held the key {key}, which is in use and is now in no key file: put it back, or \
             into a file of its own that old_key_files names"
        )
    })
}

/// Refuses to change the policies together with the application of calls that name none, which a reload does not change:
/// they would be left without the policy of either file.
fn check_default(running: &Settings, wanted: &Settings) -> Result<()> {
    let [before, now] = [running, wanted].map(|settings| &settings.gateway);
    let is_moved = before.monitor.application_id != now.monitor.application_id;
    let have_lists = !before.applications.is_empty() && !now.applications.is_empty();
    if is_moved && have_lists && before.applications != now.applications {
        bail!(
            "applications and monitor.application_id change together, and a reload does not change the latter: calls \
             that name no application could lose their policy; use an upgrade (monitor upgrade) instead"
        );
    }
    Ok(())
}

/// The files that settings name, read and opened.
struct Ready {
    certificates: Vec<LoadedCertificate>,
    access: PreparedLog,
    tracing: Change,
    upstream: UpstreamTlsFiles,
    backend: Option<TlsMaterial>,
}

impl Reloadable {
    fn read(&self, next: &Settings, role: Role) -> Result<Ready> {
        let monitor = &next.gateway.monitor;
        let backend = self.backend.as_ref().map(|_| {
            TlsMaterial::read(monitor.ca.as_deref(), monitor.client.as_ref()).map_err(Error::msg)
        });
        if self.gateway_state.is_some() {
            descriptors::clients(next.gateway.limits.connections, role == Role::All)?;
        }
        let tracing = self.tracing.as_ref();
        let tracing = tracing.map(|running| running.prepare(next.gateway.trace.as_ref()));
        let ready = Ready {
            certificates: self.certificates.read()?,
            access: AccessLog::prepare(&next.log.access)?,
            tracing: tracing.transpose()?.unwrap_or(Change::None),
            upstream: UpstreamTlsFiles::read(&next.gateway).map_err(Error::msg)?,
            backend: backend.transpose()?,
        };
        // Last, since it writes: nothing but the store refuses the configuration from here on.
        if let Some(applications) = &self.applications {
            applications.add(&next.gateway.applications)?;
        }
        Ok(ready)
    }

    fn replace(&self, next: &Settings, ready: Ready) {
        if let Some(applications) = &self.applications {
            applications.replace(next.gateway.applications.clone());
        }
        let tracing = self.tracing.as_ref();
        let tracer = tracing.and_then(|running| running.replace(ready.tracing));
        if let Some(gateway_state) = &self.gateway_state {
            let config = GatewayConfig {
                settings: next.gateway.clone(),
                upstream_tls: ready.upstream,
            };
            gateway_state.reload(config, tracer);
        }
        if let (Some(held), Some(read)) = (&self.backend, ready.backend) {
            held.replace(read);
        }
        if let Some(services) = &self.services {
            services.set_prices(&next.analysis.prices);
            services.set_alerts(&next.analysis.alerts);
        }
        self.certificates.replace(ready.certificates);
        logging::set(&next.log);
        if let Some(log) = &self.access {
            log.replace(ready.access);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

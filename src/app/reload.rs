//! Reading the configuration again while calls go on (CONTRACT 35): all or nothing, the last good one
//! stays in force, and what only a new process can change is named. Calls under way keep what they
//! began with.

use super::certificates::{Certificates, Held};
use super::clear_text;
use super::launch::{Load, Seat};
use super::tracing::{Change, Tracing};
use super::{descriptors, notify};
use crate::backend::{BackendFiles, BackendTls};
use crate::config::{Role, Settings};
use crate::gateway::{Live, UpstreamTls};
use crate::observe::UpgradeResult;
use crate::observe::access::{AccessLog, PreparedLog};
use crate::observe::events::ReloadEnded;
use crate::observe::{Metrics, logging};
use crate::policy::FileList;
use anyhow::{Error, Result, anyhow, bail};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What can be changed in a running process.
#[derive(Default)]
pub(super) struct Parts {
    /// None in a process without a gateway.
    pub(super) live: Option<Arc<Live>>,
    /// None where policies come from a store.
    pub(super) applications: Option<FileList>,
    pub(super) certificates: Certificates,
    /// None in a process without a gateway.
    pub(super) access: Option<Arc<AccessLog>>,
    /// None in a process without a gateway.
    pub(super) tracing: Option<Arc<Tracing>>,
    /// None where no files are named for connections to the backend.
    pub(super) backend: Option<Arc<BackendTls>>,
}

/// The configuration in force.
pub(super) struct Reloads {
    load: Load,
    role: Role,
    running: Mutex<Settings>,
    parts: OnceLock<Parts>,
    metrics: Arc<Metrics>,
    latest: Mutex<Option<Latest>>,
}

struct Latest {
    at: SystemTime,
    result: UpgradeResult,
    detail: String,
}

impl Reloads {
    /// The seat has what the process was started with.
    pub(super) fn new(seat: &Seat, metrics: Arc<Metrics>) -> Self {
        Self {
            load: seat.load.clone(),
            role: seat.role,
            running: Mutex::new(seat.given.clone()),
            parts: OnceLock::new(),
            metrics,
            latest: Mutex::default(),
        }
    }

    /// Says what can be changed, once it runs.
    pub(super) fn attach(&self, parts: Parts) {
        // A process attaches its parts once.
        let _ = self.parts.set(parts);
    }

    /// Reads the configuration and puts it in force; says what took effect.
    ///
    /// # Errors
    /// When it is wrong: then nothing has changed, and the text says why.
    pub(super) fn reload(&self) -> Result<String> {
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

    /// Reads the configuration once more where it has changed since this process read it, and certificates in
    /// any case: the process before may have been told to meanwhile, and its word is this one's too. A secret
    /// alone that changed is not seen, since nothing compares secrets.
    pub(super) fn catch_up(&self) {
        let wanted = (self.load)();
        if wanted.is_ok_and(|wanted| wanted.hash() != self.configuration()) {
            // What came of it is in the log, the status and a metric.
            drop(self.reload());
        } else if let Some(parts) = self.parts.get()
            && let Ok(read) = parts.certificates.read()
        {
            parts.certificates.replace(read);
        }
    }

    /// The hash that `monitor check` prints for the settings in force.
    pub(super) fn configuration(&self) -> String {
        lock(&self.running).hash()
    }

    /// The latest reload, for people; null before the first.
    pub(super) fn status(&self) -> Value {
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
        let (next, waiting) = merge(running, wanted);
        let ready = parts.read(&next)?;
        // From here on nothing fails.
        parts.replace(&next, ready);
        clear_text::warn(&next, self.role, &self.metrics);
        *running = next;
        Ok(match waiting.is_empty() {
            true => "everything is in force".to_owned(),
            false => format!(
                "in force but for {}, which needs an upgrade (monitor upgrade)",
                named(&waiting, parts.live.is_some())
            ),
        })
    }
}

/// What settings name outside themselves, read and opened.
struct Ready {
    certificates: Vec<Held>,
    access: PreparedLog,
    tracing: Change,
    upstream: UpstreamTls,
    backend: Option<BackendFiles>,
}

impl Parts {
    fn read(&self, next: &Settings) -> Result<Ready> {
        let monitor = &next.gateway.monitor;
        let backend = self.backend.as_ref().map(|_| {
            BackendFiles::read(monitor.ca.as_deref(), monitor.client.as_ref()).map_err(Error::msg)
        });
        if self.live.is_some() {
            descriptors::clients(next.gateway.limits.connections)?;
        }
        let tracing = self.tracing.as_ref();
        let tracing = tracing.map(|running| running.prepare(next.gateway.trace.as_ref()));
        Ok(Ready {
            certificates: self.certificates.read()?,
            access: AccessLog::prepare(&next.log.access)?,
            tracing: tracing.transpose()?.unwrap_or(Change::None),
            upstream: UpstreamTls::read(&next.gateway.upstream).map_err(Error::msg)?,
            backend: backend.transpose()?,
        })
    }

    fn replace(&self, next: &Settings, ready: Ready) {
        let tracing = self.tracing.as_ref();
        let tracer = tracing.and_then(|running| running.replace(ready.tracing));
        if let Some(live) = &self.live {
            live.replace(next.gateway.clone(), ready.upstream, tracer);
        }
        if let Some(applications) = &self.applications {
            applications.replace(next.gateway.applications.clone());
        }
        if let (Some(held), Some(read)) = (&self.backend, ready.backend) {
            held.replace(read);
        }
        self.certificates.replace(ready.certificates);
        logging::set(&next.log);
        if let Some(log) = &self.access {
            log.replace(ready.access);
        }
    }
}

/// The keys as the file has them: an analysis server's stand at its top level.
fn named(keys: &[&str], beside_gateway: bool) -> String {
    let key = |key: &&str| match beside_gateway {
        true => (*key).to_owned(),
        false => key.strip_prefix("analysis.").unwrap_or(key).to_owned(),
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}

/// What the process can run with: the wanted settings, with those kept that only a new process can
/// change; their names where they differ.
fn merge(running: &Settings, wanted: Settings) -> (Settings, Vec<&'static str>) {
    let mut merge = Merge {
        running,
        next: wanted,
        waiting: Vec::new(),
    };
    merge.keep_of_the_gateway();
    merge.keep_of_the_analysis();
    merge.keep_sources();
    (merge.next, merge.waiting)
}

struct Merge<'a> {
    running: &'a Settings,
    next: Settings,
    waiting: Vec<&'static str>,
}

macro_rules! keep {
    ($merge:ident $($name:literal $($part:ident).+;)*) => {$(
        if $merge.next.$($part).+ != $merge.running.$($part).+ {
            $merge.waiting.push($name);
            $merge.next.$($part).+ = $merge.running.$($part).+.clone();
        }
    )*};
}

impl Merge<'_> {
    fn keep_of_the_gateway(&mut self) {
        keep! { self
            "data_dir" data_dir;
            "listen" gateway.listen;
            "operations" gateway.operations;
            "monitor" gateway.monitor;
            "limits.threads" gateway.limits.threads;
            "limits.upstream_idle_connections" gateway.limits.upstream_idle_connections;
            "shutdown" gateway.shutdown;
            "queue" gateway.queue;
            "spool.dir" gateway.spool.dir;
            "spool.max_bytes" gateway.spool.max_bytes;
            "spool.max_age" gateway.spool.max_age;
            "spool.max_dead_bytes" gateway.spool.max_dead_bytes;
            "files" gateway.files;
            "store" gateway.store;
        }
    }

    fn keep_of_the_analysis(&mut self) {
        keep! { self
            "analysis.listen" analysis.listen;
            "analysis.operations" analysis.operations;
            "analysis.database" analysis.database;
            "analysis.store" analysis.store;
            "analysis.retention" analysis.retention;
            "analysis.max_body" analysis.max_body;
            "analysis.first_token" analysis.first_token;
            "analysis.services" analysis.services;
            "analysis.detect" analysis.detect;
            "analysis.blobs" analysis.blobs;
            "analysis.attachments" analysis.attachments;
            "analysis.limits" analysis.requests_per_second;
            "analysis.judge" analysis.judge;
            "analysis.checks" analysis.checks;
            "analysis.sign_in" analysis.oidc;
        }
        // And what nobody has named.
        keep! { self "analysis" analysis; }
    }

    fn keep_sources(&mut self) {
        // A list in the file is in force or it is not; which store there is stays as it was.
        let has_list = |settings: &Settings| !settings.gateway.applications.is_empty();
        if has_list(&self.next) != has_list(self.running) {
            self.waiting.push("applications");
            let kept = &self.running.gateway.applications;
            self.next.gateway.applications.clone_from(kept);
        }
        // Without a model server there is the demo model, which starts with the process.
        let has_upstream = |settings: &Settings| settings.gateway.upstream.url.is_some();
        if has_upstream(&self.next) != has_upstream(self.running) {
            self.waiting.push("upstream.url");
            self.next.gateway.upstream = self.running.gateway.upstream.clone();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

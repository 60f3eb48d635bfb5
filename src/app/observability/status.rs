//! `/status` (CONTRACT 35): what runs here and how its policies are, for people and their scripts.
//! Figures over time are in `/metrics`; readiness for a load balancer is `/readyz`.

use crate::analysis::{Services, StoreHealth};
use crate::app::analysis::remote_checks;
use crate::app::gateway::policies;
use crate::app::process::lifecycle::Readiness;
use crate::app::process::web::ApiActivity;
use crate::app::reload::Reloads;
use crate::fair_queue::TurnFigures;
use crate::gateway::{ConnectionLimit, GatewayState, MemoryFigures};
use crate::judge::Remote;
use crate::observe::{Metrics, PoolUse};
use crate::policy::{Policies, PolicyStatus};
use crate::spool::Spool;
use monitor_model::GATEWAY_VERSION;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Applications with a problem, and those whose stored policy the configuration file overrides, that are named; all of
/// them are counted.
const NAMED: usize = 100;

/// What the operations listener reports on.
pub(crate) struct Overview {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) readiness: Arc<Readiness>,
    /// None where no policy store is configured.
    pub(crate) policies: Option<Policies>,
    /// None without a spool.
    pub(crate) spool: Option<Spool>,
    pub(crate) reloads: Arc<Reloads>,
    pub(crate) api_activity: ApiActivity,
    /// The servers that an analysis in this process calls.
    pub(crate) remote: Remote,
    /// The analysis in this process; None in a gateway alone.
    pub(crate) services: Option<Arc<Services>>,
    /// None in a process without a gateway.
    pub(crate) gateway_state: Option<Arc<GatewayState>>,
}

impl Overview {
    /// Sets the metrics that are read when they are asked for.
    pub(crate) async fn measure(&self) {
        if let Some(in_force) = &self.policies {
            let services = self.services.as_ref();
            let own = services.map(|services| services.budget_count());
            policies::measure(in_force, own.unwrap_or_default(), &self.metrics);
        }
        let turns = &self.metrics.turns;
        let signed = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        if let Some(state) = &self.gateway_state {
            let figures = state.turn_figures();
            turns.calls_waiting.set(signed(figures.waiting as u64));
        }
        if let Some(services) = &self.services {
            let figures = services.ingest.turn_figures();
            turns.running.set(signed(figures.running as u64));
            turns.waiting.set(signed(figures.waiting as u64));
            turns.waiting_cost.set(signed(figures.waiting_cost));
        }
        let connections = self.api_activity.limit();
        let limits = &self.metrics.limits;
        limits.api_connections.set(connections.in_use());
        limits.api_connections_limit.set(connections.limit());
        if let Some(health) = self.store_health().await {
            self.metrics.store.up.set(health.schema.is_ok().into());
            self.metrics.store.pool(PoolUse {
                limit: health.pool.limit,
                in_use: health.pool.in_use,
                idle: health.pool.idle,
                waited_seconds: health.pool.waited.as_secs_f64(),
            });
        }
    }

    /// Asks the store whether it answers; None in a gateway alone.
    pub(crate) async fn store_health(&self) -> Option<StoreHealth> {
        let services = self.services.as_ref()?;
        Some(services.store_probe.ask().await)
    }

    /// Calls and API requests under way.
    pub(crate) fn in_flight(&self) -> i64 {
        self.metrics.in_flight() + self.api_activity.count()
    }

    /// The page as JSON, without secrets and without the policies' texts.
    pub(crate) async fn page(&self) -> Value {
        let store = self.store_health().await;
        let policies = self
            .policies
            .as_ref()
            .map(|policies| shown(policies.status()));
        json!({
            "version": GATEWAY_VERSION,
            "configuration": self.reloads.configuration(),
            "reload": self.reloads.status(),
            "process": std::process::id(),
            "state": self.readiness.state(),
            "in_flight": self.in_flight(),
            "policies": policies,
            "spool": self.spool.as_ref().map(|spool| owed(spool, &self.metrics)),
            "calls": self.gateway_state.as_ref().map(|state| turns(state.turn_figures())),
            "memory": self.gateway_state.as_ref().map(|state| memory(state.memory_figures())),
            "connections": self.gateway_state.as_ref().map(|state| connections(state.connection_limit())),
            "analysis": self.services.as_ref().map(|services| turns(services.ingest.turn_figures())),
            "compiled_rules": self.services.as_ref().map(|services| compiled_rules(services)),
            "file_readers": self.services.as_ref().map(|services| turns(services.records.reader_figures())),
            "store_reads": self.services.as_ref().map(|services| turns(services.records.read_figures())),
            "stored_files": self.services.as_ref().map(|services| turns(services.records.file_figures())),
            "uploads": self.services.as_ref().map(|services| uploads(services)),
            "changes": self.services.as_ref().map(|services| changes(services)),
            "api_memory": self.api_activity.memory_figures().map(memory),
            "api_connections": self.services.as_ref().map(|_| connections(self.api_activity.limit())),
            "store": store.as_ref().map(store_page),
            "checks": remote_checks::shown(&self.remote),
            "upstreams": self.gateway_state.as_ref().and_then(|state| upstreams(state)),
        })
    }
}

fn store_page(store: &StoreHealth) -> Value {
    json!({
        "kind": store.kind,
        "answers": store.schema.is_ok(),
        "error": store.schema.as_ref().err(),
        "schema": store.schema.as_ref().ok(),
        "connections": {
            "limit": store.pool.limit,
            "in_use": store.pool.in_use,
            "idle": store.pool.idle,
        },
    })
}

/// Jobs that run in turns, and those that wait for one.
fn turns(figures: TurnFigures) -> Value {
    json!({
        "places": figures.places,
        "running": figures.running,
        "waiting": figures.waiting,
        "waiting_bytes": figures.waiting_cost,
        "access_keys": figures.holders,
    })
}

/// Rules that are compiled one set at a time, in turns of their own by where they come from.
fn compiled_rules(services: &Services) -> Value {
    let [of_requests, of_applications] = services.admin.compilation_figures().map(turns);
    json!({"of_requests": of_requests, "of_applications": of_applications})
}

/// Files that are being uploaded.
fn uploads(services: &Services) -> Value {
    let figures = services.records.upload_figures();
    json!({
        "bytes": figures.bytes,
        "limit_bytes": figures.limit_bytes,
        "access_keys": figures.holders,
    })
}

/// Changes by those who are bound to an application.
fn changes(services: &Services) -> Value {
    let figures = services.access.change_figures();
    json!({"limit": figures.most, "refused": figures.refused})
}

/// What requests and answers hold, and the most that one client holds of it.
fn memory(figures: MemoryFigures) -> Value {
    json!({
        "bytes": figures.bytes,
        "limit_bytes": figures.limit_bytes,
        "clients": figures.holders,
        "largest_client_bytes": figures.largest_bytes,
        "waiting": figures.waiting,
    })
}

fn connections(limit: &ConnectionLimit) -> Value {
    json!({"open": limit.in_use(), "limit": limit.limit()})
}

/// Null with a single upstream, which has no health checks. Servers of `upstreams` have the name of their entry.
fn upstreams(gateway_state: &GatewayState) -> Option<Value> {
    let upstreams = gateway_state.upstream_status().into_iter();
    let shown = upstreams.map(|upstream| {
        let mut shown = json!({"address": upstream.name.address, "up": upstream.is_up});
        if !upstream.name.group.is_empty() {
            shown["name"] = upstream.name.group.into();
        }
        shown
    });
    let shown: Vec<Value> = shown.collect();
    (!shown.is_empty()).then_some(Value::Array(shown))
}

fn owed(spool: &Spool, metrics: &Metrics) -> Value {
    let status = spool.status();
    let lost = metrics.spool.lost_by_reason();
    let lost = lost.map(|(reason, count)| (reason.to_owned(), json!(count)));
    json!({
        "bytes": status.bytes,
        "records": status.records,
        "oldest_seconds": status.oldest_seconds,
        "degraded": status.degraded,
        "dead_letters": status.dead_letters,
        "dead_letter_bytes": status.dead_letter_bytes,
        "dead_letters_lost": status.dead_letters_dropped,
        "dead_letters_lost_over_share": status.dead_letters_over_share,
        "lost": lost.collect::<Map<_, _>>(),
        "retried_apart": status.retried_apart,
        "in_memory": status.in_memory,
        "backend_answers": status.backend_answers,
        "encrypted": spool.is_encrypted(),
    })
}

fn shown(status: PolicyStatus) -> Value {
    let count = status.faults.len();
    let overridden = status.overridden.iter().take(NAMED);
    let overridden: Vec<String> = overridden.map(ToString::to_string).collect();
    let named = status.faults.into_iter().take(NAMED).map(|fault| {
        let in_force = match fault.keeps_last_good {
            true => "last_good",
            false => "none",
        };
        let problem = json!({"problem": fault.reason.to_string(), "in_force": in_force});
        (fault.id.to_string(), problem)
    });
    json!({
        "store": status.store,
        "applications": status.applications,
        "age_seconds": status.age.map(|age| age.as_secs_f64()),
        "from_copy": status.from_copy,
        "store_error": status.store_error,
        "problem_count": count,
        "problems": named.collect::<Map<_, _>>(),
        "overridden_count": status.overridden.len(),
        "overridden": overridden,
    })
}

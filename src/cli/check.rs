//! What a checked configuration amounts to, one line per part. Problems print themselves
//! (CONTRACT 32 `check`).

use super::failure::Failure;
use super::load::{RoleArg, file_or_variable, load, variable_warnings};
use super::output::print;
use crate::config::Overrides;
use crate::config::{
    AnalysisSettings, GatewaySettings, Listener, NamedUpstream, RetentionSettings, Role, Services,
    Settings,
};
use crate::observe::logging;
use clap::Args;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Configuration file (YAML) [env: MONITOR_CONFIG].
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Role that the configuration file is for.
    #[arg(long, value_enum, default_value_t = RoleArg::All)]
    pub(super) role: RoleArg,
}

pub(super) fn run(args: CheckArgs) -> Result<(), Failure> {
    let file = file_or_variable(args.config);
    let role = args.role.into();
    let settings = load(role, file.clone(), &Overrides::default())?;
    for warning in variable_warnings() {
        logging::say(log::Level::Warn, &format!("warning: {warning}"));
    }
    print(summary(file.as_deref(), role, &settings).as_bytes())
}

/// The text of `monitor check` for settings without a problem.
fn summary(file: Option<&Path>, role: Role, settings: &Settings) -> String {
    let source = file.map_or("environment and defaults".to_owned(), |f| {
        f.display().to_string()
    });
    let mut lines = format!("{source}: ok\n");
    let mut line = |name: &str, text: String| {
        // Writing to a string has no failing case.
        let _ = writeln!(lines, "  {:<17}{text}", format!("{name}:"));
    };
    line("command", role.command().to_owned());
    line("configuration", settings.hash());
    if role != Role::Analysis {
        let gateway = &settings.gateway;
        line("gateway", listeners(&gateway.listen));
        line("operations", gateway.operations.to_string());
        line("upstream", upstream(gateway));
        for entry in &gateway.upstreams {
            line("upstreams", named_upstream(entry));
        }
        line("monitor", monitor(gateway, role));
        line("unknown callers", unknown_callers(gateway, role));
    }
    if role != Role::Gateway {
        line("analysis", listeners(&settings.analysis.listen));
        line("database", database(&settings.analysis, settings));
        line("retention", retention(settings.analysis.retention));
        let cost_days = settings.analysis.retention.cost_days;
        line("costs of users", format!("{cost_days} days"));
        line("services", services(settings.analysis.services));
    }
    if role == Role::Analysis {
        line("operations", settings.analysis.operations.to_string());
    }
    lines
}

fn listeners(listeners: &[Listener]) -> String {
    let shown = listeners.iter().map(|listener| match listener.tls {
        Some(_) => format!("{} (TLS)", listener.address),
        None => listener.address.to_string(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

fn upstream(gateway: &GatewaySettings) -> String {
    match &gateway.upstream.url {
        Some(url) => format!("{url}, timeout {:?}", gateway.upstream.timeout),
        None => "not set: the built-in demo model server answers".to_owned(),
    }
}

/// `anthropic (messages, claude-*) https://…, timeout 120s`.
fn named_upstream(entry: &NamedUpstream) -> String {
    let NamedUpstream {
        name,
        calls,
        servers,
    } = entry;
    let url = servers.url.as_ref().map(ToString::to_string);
    let url = url.unwrap_or_default();
    format!("{name} ({calls}) {url}, timeout {:?}", servers.timeout)
}

fn monitor(gateway: &GatewaySettings, role: Role) -> String {
    match (&gateway.monitor.url, role) {
        (Some(url), _) => format!("{url}, timeout {:?}", gateway.monitor.timeout),
        (None, Role::All) => "not set: analyzed in this process".to_owned(),
        (None, _) => "not set: no telemetry is sent".to_owned(),
    }
}

/// The treatment of access keys and applications that nobody knows.
fn unknown_callers(gateway: &GatewaySettings, role: Role) -> String {
    let has_access_keys = role == Role::All && gateway.monitor.url.is_none();
    gateway.monitor.callers(has_access_keys).to_string()
}

fn services(services: Services) -> String {
    let stages = [
        ("dataclean", services.dataclean),
        ("guardrails", services.guardrails),
        ("custom_policy", services.custom_policy),
    ];
    let shown = stages.map(|(stage, is_on)| match is_on {
        true => stage.to_owned(),
        false => format!("{stage} (off)"),
    });
    shown.join(", ")
}

fn database(analysis: &AnalysisSettings, settings: &Settings) -> String {
    if let Some(store) = &analysis.store {
        let (user, host, port, db) = (&store.user, &store.host, store.port, &store.db);
        return format!("PostgreSQL {db} at {host}:{port}, as {user}");
    }
    let default = || settings.data_dir.join("monitor.db");
    analysis
        .database
        .clone()
        .unwrap_or_else(default)
        .display()
        .to_string()
}

fn retention(limits: RetentionSettings) -> String {
    let one = |limit: Option<u64>, unit: &str| limit.map(|limit| format!("{limit} {unit}"));
    let bounds = [
        one(limits.days.map(u64::from), "days"),
        one(limits.rows, "records"),
        one(limits.bytes, "bytes"),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    match bounds.is_empty() {
        true => "unlimited".to_owned(),
        false => bounds.join(", "),
    }
}

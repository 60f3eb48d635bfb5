//! The servers that an analysis calls, from the settings.

use crate::config::{AnalysisSettings, BaseUrl, JudgePlace};
use crate::judge::{EndpointStatus, GuardModel, ModelJudge, Presidio, Remote};
use crate::observe::Metrics;
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The model of the demo upstream that judges.
const DEMO_JUDGE: &str = "demo-judge";

/// Creates the clients that the settings name; `upstream` is the model server of a gateway in this process.
///
/// # Errors
/// When the system's certificates cannot be read for https.
pub(crate) fn remote(
    settings: &AnalysisSettings,
    upstream: Option<&BaseUrl>,
    metrics: &Arc<Metrics>,
) -> Result<Remote> {
    let mut remote = Remote::none(metrics.clone());
    if let Some(judge) = &settings.judge {
        let base = match &judge.place {
            JudgePlace::Url(url) => Some(url),
            JudgePlace::Upstream => upstream,
        };
        let base = base.context("judge.url is upstream, but upstream.url is not set")?;
        let mut judge = judge.clone();
        if judge.model.is_empty() {
            DEMO_JUDGE.clone_into(&mut judge.model);
        }
        let made = ModelJudge::new(judge, base, metrics.clone());
        remote = remote.with_judge(made.context("the judge")?);
    }
    if let Some(presidio) = &settings.checks.presidio {
        let made = Presidio::new(presidio.clone(), metrics.clone());
        remote = remote.with_presidio(made.context("the Presidio analyzer")?);
    }
    if let Some(guard) = &settings.checks.guard {
        let made = GuardModel::new(guard.clone(), metrics.clone());
        remote = remote.with_guard(made.context("the guard model")?);
    }
    Ok(remote)
}

/// Their health, for `/status`; null without any.
pub(crate) fn shown(remote: &Remote) -> Value {
    let mut checks = Map::new();
    let mut add = |name: &str, status: Option<EndpointStatus>| {
        if let Some(status) = status {
            let shown = json!({
                "answers": !status.is_down,
                "calls": status.calls,
                "waiting": status.waiting,
            });
            checks.insert(name.to_owned(), shown);
        }
    };
    let judge = remote.model_judge().map(ModelJudge::status);
    add("judge", judge.map(|(status, _)| status));
    add("presidio", remote.presidio().map(Presidio::status));
    add("guard", remote.guard().map(GuardModel::status));
    if let Some((_, remembered)) = judge {
        checks["judge"]["remembered"] = remembered.into();
    }
    match checks.is_empty() {
        true => Value::Null,
        false => checks.into(),
    }
}

//! Alerts: rules on finds and on gateways, the channels that are told, and what fires. People who administer the whole
//! server set them, or the configuration file; `task` looks at the rules and sends what waits. A look and its messages
//! are one transaction, and a message waits in the store until its channel took it: nothing is lost, and a receiver may
//! get one twice.

mod address;
mod bounded;
mod budgets;
mod changes;
pub(crate) mod channel;
mod evaluate;
mod mail;
pub(crate) mod message;
mod of_file;
pub(crate) mod rule;
mod send;
mod task;

pub(crate) use evaluate::BudgetSources;
pub(crate) use task::AlertTask;

use super::access::caller::Caller;
use super::audit::{Action, Target};
use super::clock::now_ms;
use super::error::{ApiError, FieldProblem};
use crate::config::{AlertSettings, AnalysisSettings};
use crate::observe::Metrics;
use arc_swap::ArcSwap;
use channel::{Channel, ChannelEdit};
use evaluate::Evaluator;
use message::Message;
use monitor_store::{
    Alert, AlertChange, AlertChannel, AlertDelivery, AlertRule, AlertStore, ApplicationStore,
    AuditEntry, DeliveryState, Erasure, MOST_ALERTS, Store,
};
use rule::Rule;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;
use uuid::Uuid;

/// The longest time for which an alert is muted.
pub(crate) const LONGEST_MUTE_MS: i64 = 30 * 86_400_000;

/// A rule with its identifier.
#[derive(Clone)]
pub(crate) struct KnownRule {
    pub(crate) id: Uuid,
    pub(crate) rule: Rule,
    pub(crate) created_at_ms: i64,
    /// It is changed in the configuration file only.
    pub(crate) is_in_file: bool,
}

/// A channel with its identifier.
#[derive(Clone)]
pub(crate) struct KnownChannel {
    pub(crate) id: Uuid,
    pub(crate) channel: Channel,
    pub(crate) created_at_ms: i64,
    /// It is changed in the configuration file only.
    pub(crate) is_in_file: bool,
}

/// Alerts, for those who administer the whole server.
pub(crate) struct Alerts {
    store: Arc<dyn AlertStore>,
    applications: Arc<dyn ApplicationStore>,
    evaluator: Evaluator,
    settings: ArcSwap<AlertSettings>,
    public_url: Option<String>,
    metrics: Option<Arc<Metrics>>,
    /// Which server this is, for the lease.
    server: Uuid,
    /// Wakes the task that looks at rules, after a change of them.
    changed: Notify,
    /// Wakes the task that sends messages.
    due: Notify,
}

impl Alerts {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        settings: &AnalysisSettings,
        metrics: Option<Arc<Metrics>>,
        budgets: BudgetSources,
    ) -> Self {
        Self {
            evaluator: Evaluator {
                alerts: store.clone(),
                records: store.clone(),
                statistics: store.clone(),
                reports: store.clone(),
                applications: store.clone(),
                budgets,
                known: std::sync::Mutex::default(),
            },
            store: store.clone(),
            applications: store.clone(),
            settings: ArcSwap::from_pointee(settings.alerts.clone()),
            public_url: settings.public_url.clone(),
            metrics,
            server: Uuid::new_v4(),
            changed: Notify::new(),
            due: Notify::new(),
        }
    }

    /// Every rule that this version can read, those of the configuration file first.
    pub(crate) async fn rules(&self, caller: &Caller) -> Result<Vec<KnownRule>, ApiError> {
        must_administer(caller)?;
        let stored = self.store.alert_rules().await?;
        let mut rules = self.file_rules();
        rules.extend(stored.iter().filter_map(known_rule));
        Ok(rules)
    }

    /// Adds a rule, or replaces the one of this identifier.
    pub(crate) async fn put_rule(
        &self,
        caller: &Caller,
        id: Option<Uuid>,
        rule: Rule,
    ) -> Result<KnownRule, ApiError> {
        must_administer(caller)?;
        let stored = self.store.alert_rules().await?;
        let before = match id {
            Some(id) => {
                self.must_not_be_rule_of_file(id)?;
                Some(find(stored.iter(), |one| one.id == id)?)
            }
            None => None,
        };
        if before.is_none() && stored.len() >= MOST_ALERTS as usize {
            return Err(FieldProblem::new("name", "there are 500 rules already").into());
        }
        self.check(&rule).await?;
        let known = KnownRule {
            id: before.map_or_else(Uuid::new_v4, |before| before.id),
            created_at_ms: before.map_or_else(now_ms, |before| before.created_at_ms),
            rule,
            is_in_file: false,
        };
        let audit = entry(
            caller,
            Action::AlertRuleSet,
            known.id,
            json!({"name": known.rule.name, "kind": known.rule.kind.as_str()}),
        );
        self.store
            .put_alert_rule(stored_rule(&known)?, audit)
            .await?;
        self.changed.notify_one();
        Ok(known)
    }

    /// Refuses a rule with everything that is wrong with it.
    async fn check(&self, rule: &Rule) -> Result<(), ApiError> {
        let mut problems = rule.problems();
        let channels = self.store.alert_channels().await?;
        let of_file = self.file_channels();
        let is_known = |id: &Uuid| {
            let mut ids = of_file.iter().map(|known| known.id);
            ids.any(|one| one == *id) || channels.iter().any(|channel| channel.id == *id)
        };
        if !rule.channels.iter().all(is_known) {
            let unknown = "names a channel that does not exist";
            problems.push(FieldProblem::new("channels", unknown));
        }
        if let Some(application) = rule.application_id
            && self.applications.application(application).await?.is_none()
        {
            let unknown = "no application has this id";
            problems.push(FieldProblem::new("application_id", unknown));
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(ApiError::Fields(problems)),
        }
    }

    pub(crate) async fn remove_rule(&self, caller: &Caller, id: Uuid) -> Result<(), ApiError> {
        must_administer(caller)?;
        self.must_not_be_rule_of_file(id)?;
        let stored = self.store.alert_rules().await?;
        find(stored.iter(), |one| one.id == id)?;
        let audit = entry(caller, Action::AlertRuleRemove, id, json!({}));
        Ok(self.store.remove_alert_rule(id, now_ms(), audit).await?)
    }

    /// Every channel that this version can read, those of the configuration file first.
    pub(crate) async fn channels(&self, caller: &Caller) -> Result<Vec<KnownChannel>, ApiError> {
        must_administer(caller)?;
        let stored = self.store.alert_channels().await?;
        let mut channels = self.file_channels();
        channels.extend(stored.iter().filter_map(known_channel));
        Ok(channels)
    }

    /// Adds a channel, or replaces the one of this identifier.
    pub(crate) async fn put_channel(
        &self,
        caller: &Caller,
        id: Option<Uuid>,
        edit: ChannelEdit,
    ) -> Result<KnownChannel, ApiError> {
        let channels = self.channels(caller).await?;
        let before = match id {
            Some(id) => {
                self.must_not_be_channel_of_file(id)?;
                Some(find(channels.iter(), |one| one.id == id)?)
            }
            None => None,
        };
        let stored = channels.iter().filter(|known| !known.is_in_file);
        if before.is_none() && stored.count() >= MOST_ALERTS as usize {
            return Err(FieldProblem::new("name", "there are 500 channels already").into());
        }
        let channel = edit.over(before.map(|before| before.channel.clone()));
        let known = KnownChannel {
            id: before.map_or_else(Uuid::new_v4, |before| before.id),
            created_at_ms: before.map_or_else(now_ms, |before| before.created_at_ms),
            channel: channel.map_err(ApiError::Fields)?,
            is_in_file: false,
        };
        let details = json!({"name": known.channel.name, "kind": known.channel.kind.as_str()});
        let audit = entry(caller, Action::AlertChannelSet, known.id, details);
        let stored = AlertChannel {
            id: known.id,
            document: known.channel.document(),
            created_at_ms: known.created_at_ms,
        };
        self.store.put_alert_channel(stored, audit).await?;
        Ok(known)
    }

    pub(crate) async fn remove_channel(&self, caller: &Caller, id: Uuid) -> Result<(), ApiError> {
        self.channel(caller, id).await?;
        self.must_not_be_channel_of_file(id)?;
        let audit = entry(caller, Action::AlertChannelRemove, id, json!({}));
        Ok(self.store.remove_alert_channel(id, audit).await?)
    }

    /// Sends a test at once; the inner error says why the channel did not take it.
    pub(crate) async fn test_channel(
        &self,
        caller: &Caller,
        id: Uuid,
    ) -> Result<Result<(), String>, ApiError> {
        let channel = self.channel(caller, id).await?;
        let delivery = AlertDelivery {
            id: Uuid::new_v4(),
            alert_id: Uuid::nil(),
            channel_id: id,
            channel_name: channel.name.clone(),
            channel_kind: channel.kind.as_str().to_owned(),
            message: Message::test(&channel).document(),
            state: DeliveryState::Waiting,
            attempts: 1,
            next_ms: 0,
            created_at_ms: now_ms(),
            done_ms: None,
            failure: None,
        };
        let sent = send::send(&channel, &delivery, &self.settings.load_full()).await;
        Ok(sent)
    }

    async fn channel(&self, caller: &Caller, id: Uuid) -> Result<Channel, ApiError> {
        let channels = self.channels(caller).await?;
        Ok(find(channels.iter(), |one| one.id == id)?.channel.clone())
    }

    /// Alerts that began before this time and identifier, the latest first.
    pub(crate) async fn list(
        &self,
        caller: &Caller,
        before: Option<(i64, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Alert>, ApiError> {
        must_administer(caller)?;
        Ok(self.store.alerts(before, limit).await?)
    }

    /// Who was told of an alert.
    pub(crate) async fn told(
        &self,
        caller: &Caller,
        alert: Uuid,
    ) -> Result<Vec<AlertDelivery>, ApiError> {
        must_administer(caller)?;
        Ok(self.store.alert_deliveries(alert).await?)
    }

    /// Closes an alert until its condition has ended.
    pub(crate) async fn close(&self, caller: &Caller, id: Uuid) -> Result<(), ApiError> {
        let change = AlertChange::Close {
            // Not every database stores this character.
            by: caller.name.replace('\0', ""),
            at_ms: now_ms(),
        };
        self.change(caller, id, change).await
    }

    /// Tells nobody of an alert for this time; 0 ends that.
    pub(crate) async fn mute(&self, caller: &Caller, id: Uuid, ms: i64) -> Result<(), ApiError> {
        if !(0..=LONGEST_MUTE_MS).contains(&ms) {
            return Err(FieldProblem::new("for", "must be 0 to 30d").into());
        }
        let until = (ms > 0).then(|| now_ms() + ms);
        self.change(caller, id, AlertChange::Mute(until)).await
    }

    async fn change(&self, caller: &Caller, id: Uuid, change: AlertChange) -> Result<(), ApiError> {
        must_administer(caller)?;
        let action = match change {
            AlertChange::Close { .. } => Action::AlertClose,
            AlertChange::Mute(_) => Action::AlertMute,
        };
        let audit = entry(caller, action, id, json!({}));
        match self.store.change_alert(id, change, audit).await? {
            true => Ok(()),
            false => Err(ApiError::NotFound),
        }
    }

    /// Tries a dead delivery again.
    pub(crate) async fn retry(&self, caller: &Caller, id: Uuid) -> Result<(), ApiError> {
        must_administer(caller)?;
        let audit = entry(caller, Action::AlertRetry, id, json!({}));
        match self.store.retry_delivery(id, now_ms(), audit).await? {
            true => {
                self.due.notify_one();
                Ok(())
            }
            false => Err(ApiError::NotFound),
        }
    }

    /// The channels of now, by their identifiers.
    async fn channel_map(&self) -> Result<HashMap<Uuid, Channel>, monitor_store::StoreError> {
        let stored = self.store.alert_channels().await?;
        let known = stored.iter().filter_map(known_channel);
        let known = known.chain(self.file_channels());
        Ok(known.map(|known| (known.id, known.channel)).collect())
    }
}

/// Alerts are about all applications, and their channels lead out of the server.
fn must_administer(caller: &Caller) -> Result<(), ApiError> {
    caller.must_administer()?;
    caller.must_be_unbound()
}

fn entry(caller: &Caller, action: Action, id: Uuid, details: Value) -> AuditEntry {
    action.entry(caller, Target::Alert(id), details)
}

fn find<'a, T: 'a>(
    mut all: impl Iterator<Item = &'a T>,
    is_meant: impl Fn(&T) -> bool,
) -> Result<&'a T, ApiError> {
    all.find(|one| is_meant(one)).ok_or(ApiError::NotFound)
}

fn known_rule(stored: &AlertRule) -> Option<KnownRule> {
    Some(KnownRule {
        id: stored.id,
        rule: serde_json::from_str(&stored.document).ok()?,
        created_at_ms: stored.created_at_ms,
        is_in_file: false,
    })
}

fn stored_rule(known: &KnownRule) -> Result<AlertRule, ApiError> {
    let rule = &known.rule;
    let user = rule.user_id.as_deref();
    Ok(AlertRule {
        id: known.id,
        application_id: rule.application_id,
        user_hash: user.map_or(Vec::new(), |user| Erasure::user_hash(user).to_vec()),
        document: serde_json::to_string(rule).map_err(|_| ApiError::Internal)?,
        created_at_ms: known.created_at_ms,
    })
}

fn known_channel(stored: &AlertChannel) -> Option<KnownChannel> {
    Some(KnownChannel {
        id: stored.id,
        channel: Channel::stored(&stored.document)?,
        created_at_ms: stored.created_at_ms,
        is_in_file: false,
    })
}

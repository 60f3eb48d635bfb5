//! Alerts: the rules and channels that people set, what fires, and who was told. What a rule or a channel says is the
//! analysis server's own document.

use crate::error::StoreError;
use crate::record_filter::RecordFilter;
use crate::settings::audit::AuditEntry;
use async_trait::async_trait;
use monitor_model::ApplicationId;
use uuid::Uuid;

/// The most rules, channels, open alerts of a rule and deliveries of an alert that are read.
pub const MOST_ALERTS: u32 = 500;

/// A rule as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertRule {
    /// The identifier of the rule, in alerts too.
    pub id: Uuid,
    /// The only application it looks at.
    pub application_id: Option<ApplicationId>,
    /// `Erasure::user_hash` of the only user it looks at; empty for none.
    pub user_hash: Vec<u8>,
    /// What it says, JSON.
    pub document: String,
    /// When it was created, milliseconds since 1970.
    pub created_at_ms: i64,
}

/// A place that is told of alerts. Its document has secrets, so that it has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct AlertChannel {
    /// The identifier of the channel, which rules name.
    pub id: Uuid,
    /// What it says, JSON.
    pub document: String,
    /// When it was created, milliseconds since 1970.
    pub created_at_ms: i64,
}

/// What is known of an alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertState {
    /// Its condition holds.
    Firing,
    /// Somebody closed it, and its condition still holds.
    Closed,
    /// Its condition has ended, or its rule.
    Ended,
}

impl AlertState {
    /// Every state, in the order in which they follow.
    pub const ALL: [Self; 3] = [Self::Firing, Self::Closed, Self::Ended];

    /// The word in the API and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Firing => "firing",
            Self::Closed => "closed",
            Self::Ended => "ended",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// Something that a rule found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// The identifier of the alert, in its messages too.
    pub id: Uuid,
    /// The rule that fired.
    pub rule_id: Uuid,
    /// What of the rule it is about: one alert of a group is open at a time.
    pub group_hash: Vec<u8>,
    /// `Erasure::user_hash` of its user; empty for none.
    pub user_hash: Vec<u8>,
    /// The application it is about; None for all.
    pub application_id: Option<ApplicationId>,
    /// What was found, JSON.
    pub facts: String,
    /// Whether it still holds.
    pub state: AlertState,
    /// How often it was found again.
    pub updates: i64,
    /// When it was found first, milliseconds since 1970.
    pub first_ms: i64,
    /// When it was found last.
    pub last_ms: i64,
    /// When the channels were told last.
    pub notified_ms: i64,
    /// Nobody is told before this.
    pub muted_until_ms: Option<i64>,
    /// When it ended or was closed.
    pub resolved_ms: Option<i64>,
    /// Who closed it.
    pub resolved_by: Option<String>,
}

/// An open alert that was found again.
#[derive(Clone, Debug)]
pub struct AlertUpdate {
    /// The alert that changes.
    pub id: Uuid,
    /// What was found.
    pub facts: String,
    /// When the channels were told last.
    pub notified_ms: i64,
}

/// Everything that one look at a rule changes, in one transaction.
#[derive(Clone, Debug, Default)]
pub struct AlertChanges {
    /// When the rule was looked at, milliseconds since 1970.
    pub now_ms: i64,
    /// New alerts. One whose group has an open one already fails the transaction.
    pub raised: Vec<Alert>,
    /// Open ones that were found again.
    pub updated: Vec<AlertUpdate>,
    /// Open ones that were not.
    pub ended: Vec<Uuid>,
    /// Who is told.
    pub deliveries: Vec<AlertDelivery>,
}

/// What a person does with an alert.
#[derive(Clone, Debug)]
pub enum AlertChange {
    /// Somebody closes it: no further messages.
    Close {
        /// The name of the account or token.
        by: String,
        /// When, milliseconds since 1970.
        at_ms: i64,
    },
    /// Tells nobody before this time; None ends that.
    Mute(Option<i64>),
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// It is sent at its next time.
    Waiting,
    /// The channel took it.
    Sent,
    /// It is not tried any more.
    Dead,
}

impl DeliveryState {
    /// Every state, in the order in which they follow.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Sent, Self::Dead];

    /// The word in the API and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Sent => "sent",
            Self::Dead => "dead",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A message to a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertDelivery {
    /// Its identifier, which receivers know repeats by.
    pub id: Uuid,
    /// The alert it is about.
    pub alert_id: Uuid,
    /// Where it goes.
    pub channel_id: Uuid,
    /// The name of the channel at that time.
    pub channel_name: String,
    /// What kind of channel it was.
    pub channel_kind: String,
    /// What it says, JSON.
    pub message: String,
    /// What became of it.
    pub state: DeliveryState,
    /// How often it was tried.
    pub attempts: i64,
    /// When it is tried next, milliseconds since 1970.
    pub next_ms: i64,
    /// When it was created.
    pub created_at_ms: i64,
    /// When it was sent or given up.
    pub done_ms: Option<i64>,
    /// Why the last attempt failed.
    pub failure: Option<String>,
}

/// The end of an attempt to send.
#[derive(Clone, Debug)]
pub struct DeliveryEnd {
    /// Of which delivery.
    pub id: Uuid,
    /// What became of it.
    pub state: DeliveryState,
    /// When it is tried next, milliseconds since 1970.
    pub next_ms: i64,
    /// When it was sent or given up.
    pub done_ms: Option<i64>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// Keeps alerts. Changes that people make have their line in the audit log in the same transaction.
#[async_trait]
pub trait AlertStore: Send + Sync {
    /// Every rule, the oldest first; [`MOST_ALERTS`] at most.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read or written; the same holds for every method here.
    async fn alert_rules(&self) -> Result<Vec<AlertRule>, StoreError>;

    /// Adds a rule, or replaces the one of its identifier.
    async fn put_alert_rule(&self, rule: AlertRule, audit: AuditEntry) -> Result<(), StoreError>;

    /// Removes a rule and ends its alerts.
    async fn remove_alert_rule(
        &self,
        id: Uuid,
        now_ms: i64,
        audit: AuditEntry,
    ) -> Result<(), StoreError>;

    /// Every channel, the oldest first; [`MOST_ALERTS`] at most.
    async fn alert_channels(&self) -> Result<Vec<AlertChannel>, StoreError>;

    /// Adds a channel, or replaces the one of its identifier.
    async fn put_alert_channel(
        &self,
        channel: AlertChannel,
        audit: AuditEntry,
    ) -> Result<(), StoreError>;

    /// Removes a channel. What waits for it fails.
    async fn remove_alert_channel(&self, id: Uuid, audit: AuditEntry) -> Result<(), StoreError>;

    /// Alerts that began before this time and identifier, the latest first.
    async fn alerts(
        &self,
        before: Option<(i64, Uuid)>,
        limit: u32,
    ) -> Result<Vec<Alert>, StoreError>;

    /// The open alerts of a rule; [`MOST_ALERTS`] at most.
    async fn open_alerts(&self, rule: Uuid) -> Result<Vec<Alert>, StoreError>;

    /// The rules that have open alerts, whether they still exist or not; [`MOST_ALERTS`] at most.
    async fn firing_rules(&self) -> Result<Vec<Uuid>, StoreError>;

    /// Writes what a look at a rule found.
    async fn write_alerts(&self, changes: AlertChanges) -> Result<(), StoreError>;

    /// Changes a firing alert; whether there is one.
    async fn change_alert(
        &self,
        id: Uuid,
        change: AlertChange,
        audit: AuditEntry,
    ) -> Result<bool, StoreError>;

    /// Who was told of an alert, the earliest first; [`MOST_ALERTS`] at most.
    async fn alert_deliveries(&self, alert: Uuid) -> Result<Vec<AlertDelivery>, StoreError>;

    /// Takes deliveries that are due. Nobody else gets them before `until_ms`.
    async fn claim_deliveries(
        &self,
        now_ms: i64,
        until_ms: i64,
        limit: u32,
    ) -> Result<Vec<AlertDelivery>, StoreError>;

    /// Notes how attempts ended.
    async fn end_deliveries(&self, ends: Vec<DeliveryEnd>) -> Result<(), StoreError>;

    /// Tries a dead delivery again from now on; whether there is one.
    async fn retry_delivery(
        &self,
        id: Uuid,
        now_ms: i64,
        audit: AuditEntry,
    ) -> Result<bool, StoreError>;

    /// Whether this server looks at the rules until `until_ms`: nobody else does, or did until now.
    async fn lease_alerts(
        &self,
        server: Uuid,
        now_ms: i64,
        until_ms: i64,
    ) -> Result<bool, StoreError>;

    /// Removes alerts that ended before this time, with their deliveries.
    async fn forget_alerts(&self, before_ms: i64) -> Result<(), StoreError>;

    /// The users and applications of the newest records that match, except for the filter's text.
    async fn record_owners(
        &self,
        filter: &RecordFilter,
    ) -> Result<Vec<(Option<String>, ApplicationId)>, StoreError>;
}

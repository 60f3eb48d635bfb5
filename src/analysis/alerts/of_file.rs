//! Rules and channels of the configuration file: in force beside those of the store, and changed there only. Their
//! identifiers come from their names, so that alerts go on over a restart.

use super::{Alerts, KnownChannel, KnownRule};
use crate::analysis::error::ApiError;
use crate::config::{AlertSettings, alert_channel_id, alert_rule_id};
use std::sync::Arc;
use uuid::Uuid;

impl Alerts {
    /// Takes other settings; the next look at the rules, which begins at once, is by them.
    pub(crate) fn set(&self, settings: AlertSettings) {
        self.settings.store(Arc::new(settings));
        self.changed.notify_one();
    }

    pub(super) fn file_rules(&self) -> Vec<KnownRule> {
        let settings = self.settings.load_full();
        let known = settings.rules.iter().map(|rule| KnownRule {
            id: alert_rule_id(&rule.name),
            rule: rule.clone(),
            created_at_ms: 0,
            is_in_file: true,
        });
        known.collect()
    }

    pub(super) fn file_channels(&self) -> Vec<KnownChannel> {
        let settings = self.settings.load_full();
        let known = settings.channels.iter().map(|channel| KnownChannel {
            id: alert_channel_id(&channel.name),
            channel: channel.clone(),
            created_at_ms: 0,
            is_in_file: true,
        });
        known.collect()
    }

    /// Refuses to change a rule that the file has.
    pub(super) fn must_not_be_rule_of_file(&self, id: Uuid) -> Result<(), ApiError> {
        match self.file_rules().iter().any(|known| known.id == id) {
            true => Err(ApiError::Conflict(
                "the configuration file (alerts.rules) has this rule: change it there",
            )),
            false => Ok(()),
        }
    }

    /// Refuses to change a channel that the file has.
    pub(super) fn must_not_be_channel_of_file(&self, id: Uuid) -> Result<(), ApiError> {
        match self.file_channels().iter().any(|known| known.id == id) {
            true => Err(ApiError::Conflict(
                "the configuration file (alerts.channels) has this channel: change it there",
            )),
            false => Ok(()),
        }
    }
}

//! A guard model: the second opinion on a message that the guardrail engine is unsure of. How it is asked,
//! and what its answers mean, is in `guard_protocols`.

use super::chat;
use super::endpoint::{Endpoint, EndpointConfig, EndpointStatus, SetupError};
use super::fault::Fault;
use super::guard_protocols::{GuardQuery, Opinion, Question};
use crate::config::{GuardSettings, GuardTemplate};
use crate::observe::{Metrics, RemoteLabel, RemoteOutcome};
use std::sync::Arc;
use uuid::Uuid;

const MODERATIONS: &str = "/v1/moderations";

/// A guard model.
pub struct GuardModel {
    endpoint: Endpoint,
    settings: GuardSettings,
}

impl GuardModel {
    /// A model at its configured address.
    ///
    /// # Errors
    /// When the system's certificates cannot be read, or the URL or key cannot be sent.
    pub fn new(settings: GuardSettings, metrics: Arc<Metrics>) -> Result<Self, SetupError> {
        let reached = EndpointConfig {
            label: RemoteLabel::Guard,
            base: &settings.url,
            path: match settings.template {
                GuardTemplate::Moderation => MODERATIONS,
                GuardTemplate::LlamaGuard | GuardTemplate::Json => chat::PATH,
            },
            api_key: settings.api_key.as_ref(),
        };
        Ok(Self {
            endpoint: Endpoint::new(&reached, settings.limits, metrics)?,
            settings,
        })
    }

    /// Whether the guard model's server counts as down, and how many calls it has.
    pub fn status(&self) -> EndpointStatus {
        self.endpoint.status()
    }

    /// Its opinion, and which part of the message it did not see.
    ///
    /// # Errors
    /// Why there is no opinion.
    pub async fn opinion(&self, asked: GuardQuery<'_>) -> Result<(Opinion, Option<String>), Fault> {
        let most = usize::try_from(self.settings.max_text).unwrap_or(usize::MAX);
        let head = &asked.text[..asked.text.floor_char_boundary(most)];
        let question = Question {
            asked: GuardQuery {
                text: head,
                ..asked
            },
            model: self.settings.model.as_deref(),
            template: self.settings.template,
            nonce: Uuid::new_v4().simple().to_string(),
        };
        let deadline = self.endpoint.deadline();
        let opinion = self.endpoint.ask(&question, deadline).await?;
        let rest = (head.len() < asked.text.len()).then(|| {
            let detail = format!("a text is sent up to {most} bytes (checks.guard.max_text)");
            self.endpoint.came_to(RemoteOutcome::Cut, &detail);
            detail
        });
        Ok((opinion, rest))
    }
}

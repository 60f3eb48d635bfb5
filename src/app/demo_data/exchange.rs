//! An exchange of the data set, and its two messages as a gateway sends them.

use super::people::App;
use crate::analysis::{EarlierMessage, ProcessInput};
use monitor_model::{ApplicationId, Stage};
use serde_json::{Map, Value, json};

/// How an exchange ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Answered,
    /// The model server did not answer.
    Failed,
    /// It was answered, but nobody checked the prompt in time.
    Unchecked,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exchange {
    /// When the prompt came, milliseconds since 1970.
    pub(super) at_ms: i64,
    pub(super) app: App,
    pub(super) user: &'static str,
    pub(super) session: String,
    pub(super) model: &'static str,
    pub(super) prompt: String,
    pub(super) answer: String,
    pub(super) latency_ms: u32,
    /// Tokens that the model server counts beside those of the prompt.
    pub(super) context_tokens: u64,
    pub(super) outcome: Outcome,
}

/// Where an exchange is stored.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) application: ApplicationId,
    /// The id of the exchange.
    pub(super) id: &'p str,
}

impl Exchange {
    pub(super) fn prompt(&self, place: Place<'_>) -> EarlierMessage {
        let mut parameters = self.parameters(place.id);
        if self.outcome == Outcome::Unchecked {
            parameters.insert("unchecked".to_owned(), Value::Bool(true));
        }
        let call = json!({"client_address": self.address()});
        parameters.insert("call".to_owned(), call);
        EarlierMessage {
            stage: Stage::PreCall,
            at_ms: self.at_ms,
            input: input(place.application, &self.prompt, parameters),
        }
    }

    pub(super) fn answer(&self, place: Place<'_>) -> EarlierMessage {
        let mut parameters = self.parameters(place.id);
        let has_failed = self.outcome == Outcome::Failed;
        let call = json!({
            "provider": "models.example",
            "status": if has_failed { 502 } else { 200 },
            "latency_ms": self.latency_ms,
            "first_byte_ms": self.latency_ms / 5,
            "client_address": self.address(),
        });
        parameters.insert("call".to_owned(), call);
        parameters.insert("model".to_owned(), self.model.into());
        let text = match has_failed {
            true => {
                let error = json!({"type": "upstream_error", "code": 502, "closed_by": "upstream",
                    "message": "the model server closed the connection"});
                parameters.insert("error".to_owned(), error);
                ""
            }
            false => {
                let (prompt, answer) = (tokens(&self.prompt), tokens(&self.answer));
                let usage = json!({"prompt_tokens": prompt + self.context_tokens, "completion_tokens": answer});
                parameters.insert("usage".to_owned(), usage);
                self.answer.as_str()
            }
        };
        EarlierMessage {
            stage: Stage::PostCall,
            at_ms: self.at_ms + i64::from(self.latency_ms),
            input: input(place.application, text, parameters),
        }
    }

    fn parameters(&self, id: &str) -> Map<String, Value> {
        let ids = [
            ("request_id", id),
            ("user_id", self.user),
            ("session_id", self.session.as_str()),
        ];
        let own = ids
            .into_iter()
            .map(|(name, id)| (name.to_owned(), Value::from(id)));
        own.collect()
    }

    /// Each user has one, of the network for documentation.
    fn address(&self) -> String {
        let first = match self.app {
            App::Support => 10,
            App::Code => 60,
            App::Sales => 110,
        };
        let mut people = self.app.people().iter();
        let place = people.position(|name| *name == self.user);
        format!("192.0.2.{}", first + place.unwrap_or_default())
    }
}

fn input(application: ApplicationId, text: &str, parameters: Map<String, Value>) -> ProcessInput {
    ProcessInput {
        application_id: Some(application.to_string()),
        message: text.into(),
        additional_parameters: parameters,
    }
}

/// Roughly those of a text.
fn tokens(text: &str) -> u64 {
    text.chars().count() as u64 / 3 + 1
}

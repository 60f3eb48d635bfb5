//! A message as a caller sends it (§2.7, §2.8).

use super::inline_rules::Validation;
use crate::fair_queue::Urgency;
use monitor_model::Stage;
use monitor_store::ToolCall;
use serde_json::{Map, Value};
use std::sync::Arc;

/// The fields of §2.7, unchecked.
#[derive(Clone, Debug, Default)]
pub struct ProcessInput {
    /// The application's UUID; None stands for the one the token is bound to.
    pub application_id: Option<String>,
    /// The user's message or the model's answer.
    pub message: Arc<str>,
    /// user_id, session_id, request_id and whatever else the caller tracks.
    pub additional_parameters: Map<String, Value>,
}

/// A request of §2.7, or of §2.8 with rules of its own, or a part of a tool call.
pub(crate) struct ProcessRequest {
    pub(crate) stage: Stage,
    pub(crate) input: ProcessInput,
    pub(crate) validation: Option<Validation>,
    pub(crate) tool: Option<ToolCall>,
    pub(crate) urgency: Urgency,
}

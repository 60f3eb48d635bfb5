//! Calls of tools (CONTRACT 48): what a model passes to a tool is checked by the rules of answers, what the tool
//! gives back by those of prompts, and each is a record of its own beside the messages of the exchange.

use super::Ingest;
use super::parameters::Parameters;
use super::parts::text;
use super::process::StoredVerdict;
use super::request::{ProcessInput, ProcessRequest};
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use crate::fair_queue::Urgency;
use monitor_model::{AnalysisResponse, ApplicationId, CHAIN_PARAMETER, PART_BREAKS, Stage, Status};
use monitor_store::{Exchange, ToolCall};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

/// A tool call as a caller sends it.
pub(crate) struct ToolCallInput {
    /// The application's UUID; None stands for the one the token is bound to.
    pub(crate) application_id: Option<String>,
    pub(crate) name: String,
    /// None: one is made.
    pub(crate) call_id: Option<String>,
    /// JSON, or any other text.
    pub(crate) arguments: String,
    /// None before the tool has answered.
    pub(crate) result: Option<String>,
    pub(crate) additional_parameters: Map<String, Value>,
}

/// The verdicts on a tool call.
#[derive(Serialize, ToSchema)]
pub(crate) struct ToolCallVerdict {
    /// Identifies the call within its exchange; made here if the caller sent none.
    tool_call_id: String,
    /// The worse one of both parts.
    status: Status,
    /// A check flagged the arguments or the result.
    flagged: bool,
    /// The application's policy blocks the arguments or the result; of a part that was stored before, the policy of
    /// that time. The caller decides what follows.
    blocked: bool,
    /// The verdict on the tool's name and its arguments, by the rules of answers.
    arguments: AnalysisResponse,
    /// The verdict on the result, by the rules of prompts; null if the call has none yet.
    result: Option<AnalysisResponse>,
}

impl Ingest {
    /// Checks a tool call and stores its parts; answers once they are durable. A part that the exchange has
    /// already gets its first answer, so that a call may be sent again when its result is there. A part in which more
    /// is found is another one under the same id: it is stored beside the first.
    ///
    /// # Errors
    /// [`ApiError`]: application, field, store.
    pub(crate) async fn process_tool_call(
        &self,
        caller: &Caller,
        input: ToolCallInput,
        urgency: Urgency,
    ) -> Result<ToolCallVerdict, ApiError> {
        let named = input.application_id.as_deref();
        let application = self.applications.resolve(named, caller).await?;
        let tool = ToolCall {
            call_id: input.call_id.unwrap_or_else(|| Uuid::new_v4().to_string()),
            name: input.name,
        };
        let mut additional_parameters = input.additional_parameters;
        // They tell of a message and of a gateway's record.
        additional_parameters.remove(PART_BREAKS);
        additional_parameters.remove(CHAIN_PARAMETER);
        let request = |stage, message: String| ProcessRequest {
            stage,
            input: ProcessInput {
                application_id: Some(application.id.to_string()),
                message: message.into(),
                additional_parameters: additional_parameters.clone(),
            },
            validation: None,
            tool: Some(tool.clone()),
            urgency,
        };
        let arguments = text::of_arguments(&tool.name, &input.arguments);
        let arguments = request(Stage::PostCall, arguments);
        let arguments = self.build_record(caller, arguments).await?;
        let result = match input.result {
            None => None,
            Some(result) => {
                let result = request(Stage::PreCall, text::of_result(&result));
                Some(self.build_record(caller, result).await?)
            }
        };
        let arguments = self.store(arguments).await?;
        let result = match result {
            None => None,
            Some(result) => Some(self.store(result).await?),
        };
        Ok(verdict(tool.call_id, arguments, result))
    }

    /// Gives a tool call the user and the session of its exchange's prompt, where its caller names none.
    pub(super) async fn inherit(
        &self,
        application_id: ApplicationId,
        parameters: &mut Parameters,
    ) -> Result<(), ApiError> {
        let is_complete = parameters.user_id.is_some() && parameters.session_id.is_some();
        let Some(id) = parameters.exchange_id.clone().filter(|_| !is_complete) else {
            return Ok(());
        };
        let exchange = Exchange {
            application_id,
            id,
            stage: Stage::PreCall,
        };
        if let Some(prompt) = self.exchanges.message_of(&exchange).await? {
            parameters.user_id = parameters.user_id.take().or(prompt.user_id);
            parameters.session_id = parameters.session_id.take().or(prompt.session_id);
        }
        Ok(())
    }
}

fn verdict(
    tool_call_id: String,
    arguments: StoredVerdict,
    result: Option<StoredVerdict>,
) -> ToolCallVerdict {
    let parts = || std::iter::once(&arguments).chain(&result);
    let is_flagged = |part: &StoredVerdict| {
        let answer = &part.answer;
        answer.guardrails.flagged || answer.custom_policy.flagged || answer.dataclean.flagged
    };
    let rank = |status: &Status| match status {
        Status::Success => 0,
        Status::PartialSuccess => 1,
        Status::Error => 2,
    };
    let status = parts().map(|part| part.answer.status).max_by_key(rank);
    ToolCallVerdict {
        tool_call_id,
        status: status.unwrap_or(arguments.answer.status),
        flagged: parts().any(is_flagged),
        blocked: parts().any(|part| part.blocked),
        arguments: arguments.answer,
        result: result.map(|result| result.answer),
    }
}

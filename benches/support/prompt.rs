//! What a call sends: its path and its body. The prompts of agents are as they send them: tools, and a conversation of
//! many turns with calls of the tools and their results.

use crate::body::{chat, fill};
use serde::{Deserialize, Serialize};

/// The form of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// A chat completion.
    Chat,
    /// One question to the Responses API.
    Responses,
    /// One question to the Messages API.
    Messages,
    /// What an agent sends to the Responses API.
    ResponsesAgent,
    /// What an agent sends to the Messages API.
    MessagesAgent,
}

/// Turns of an agent's conversation; the last one is the result of a tool.
const TURNS: usize = 201;
/// After so many turns the user says something.
const TURNS_OF_A_TASK: usize = 16;
/// Tools of an agent.
const TOOLS: usize = 24;
/// Bytes of the description of a tool, and of the instructions.
const DESCRIPTION_BYTES: usize = 1_000;
const INSTRUCTION_BYTES: usize = 7_000;

const SCHEMA: &str = r#"{"type":"object","properties":{"path":{"type":"string","description":"Absolute path."},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}"#;

impl Prompt {
    /// The path of the call.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses | Self::ResponsesAgent => "/v1/responses",
            Self::Messages | Self::MessagesAgent => "/v1/messages",
        }
    }

    /// The body: of exactly `bytes` bytes, or of an agent's as many at most.
    pub fn body(self, bytes: usize, stream: bool) -> Vec<u8> {
        let stream = if stream { r#""stream":true,"# } else { "" };
        match self {
            Self::Chat => chat(bytes, !stream.is_empty()),
            Self::Responses => {
                let begin = format!(
                    r#"{{"model":"bench","temperature":0.2,{stream}"instructions":"Answer briefly.","input":[{{"role":"user","content":""#
                );
                question(begin, bytes)
            }
            Self::Messages => {
                let begin = format!(
                    r#"{{"model":"bench","max_tokens":512,{stream}"system":"Answer briefly.","messages":[{{"role":"user","content":""#
                );
                question(begin, bytes)
            }
            Self::ResponsesAgent => agent(bytes, |turn| responses(stream, turn)),
            Self::MessagesAgent => agent(bytes, |turn| messages(stream, turn)),
        }
    }
}

fn question(mut body: String, bytes: usize) -> Vec<u8> {
    const END: &str = r#""}]}"#;
    let rest = bytes.saturating_sub(body.len() + END.len());
    fill(&mut body, rest);
    body.push_str(END);
    body.into_bytes()
}

/// The conversation that `write` makes of turns with so many bytes.
fn agent(bytes: usize, write: impl Fn(usize) -> String) -> Vec<u8> {
    let around = write(0).len();
    write(bytes.saturating_sub(around) / TURNS).into_bytes()
}

/// Whose turn it is.
enum Turn {
    User,
    Model,
    Tool,
}

fn turns() -> impl Iterator<Item = (usize, Turn)> {
    (0..TURNS).map(|number| {
        let turn = match number {
            number if number % TURNS_OF_A_TASK == 0 => Turn::User,
            number if number % 2 == 0 => Turn::Tool,
            _ => Turn::Model,
        };
        (number, turn)
    })
}

fn text(bytes: usize) -> String {
    let mut text = String::new();
    fill(&mut text, bytes);
    text
}

fn listed(elements: impl Iterator<Item = String>) -> String {
    elements.collect::<Vec<_>>().join(",")
}

fn responses(stream: &str, bytes: usize) -> String {
    let (instructions, description) = (text(INSTRUCTION_BYTES), text(DESCRIPTION_BYTES));
    let said = text(bytes);
    let tools = listed((0..TOOLS).map(|tool| {
        format!(r#"{{"type":"function","name":"tool_{tool}","description":"{description}","strict":false,"parameters":{SCHEMA}}}"#)
    }));
    let items = listed(turns().map(|(number, turn)| match turn {
        Turn::User => format!(
            r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{said}"}}]}}"#
        ),
        Turn::Model => format!(
            r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{said}"}}]}},{{"type":"function_call","call_id":"call_{number}","name":"tool_1","arguments":"{{\"path\":\"/src/main.rs\"}}"}}"#
        ),
        Turn::Tool => {
            let call = number - 1;
            format!(r#"{{"type":"function_call_output","call_id":"call_{call}","output":"{said}"}}"#)
        }
    }));
    format!(
        r#"{{"model":"bench",{stream}"instructions":"{instructions}","tools":[{tools}],"tool_choice":"auto","parallel_tool_calls":false,"store":false,"prompt_cache_key":"bench","input":[{items}]}}"#
    )
}

fn messages(stream: &str, bytes: usize) -> String {
    let (instructions, description) = (text(INSTRUCTION_BYTES), text(DESCRIPTION_BYTES));
    let said = text(bytes);
    let tools = listed((0..TOOLS).map(|tool| {
        format!(r#"{{"name":"tool_{tool}","description":"{description}","input_schema":{SCHEMA}}}"#)
    }));
    let turns = listed(turns().map(|(number, turn)| match turn {
        Turn::User => format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"<system-reminder>\nToday is Monday.\n</system-reminder>"}},{{"type":"text","text":"{said}"}}]}}"#
        ),
        Turn::Model => format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{said}"}},{{"type":"tool_use","id":"toolu_{number}","name":"tool_1","input":{{"path":"/src/main.rs"}}}}]}}"#
        ),
        Turn::Tool => {
            let call = number - 1;
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{call}","content":"{said}"}}]}}"#
            )
        }
    }));
    format!(
        r#"{{"model":"bench","max_tokens":32000,{stream}"system":[{{"type":"text","text":"{instructions}","cache_control":{{"type":"ephemeral"}}}}],"tools":[{tools}],"messages":[{turns}]}}"#
    )
}

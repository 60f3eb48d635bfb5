//! Calls of the agents' APIs in the world that looks for secrets. Their programs send keys in headers that chat
//! completions have not: `x-api-key`, `chatgpt-account-id`, and `x-codex-turn-metadata`, which names a folder and a
//! commit (CONTRACT 46, AGENT_ROUTES 4).

use crate::secrets_world::World;
use serde_json::{Value, json as object};
use std::path::Path;
use support::contains;
use support::request::Request;
use support::server::Received;
use support::stack::Stack;
use support::upstream::{json, sse};

const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

/// Calls that go well, and calls that go wrong.
pub(crate) fn calls(world: &World, stack: &Stack, application: Option<&str>) {
    let of = |request: Request| match application {
        Some(id) => request.header("X-Application-Id", id),
        None => request,
    };
    let send = |request: Request| world.secrets.call(&of(request), stack.gateway_addr);
    for path in [RESPONSES, MESSAGES] {
        for words in ["hello", "stream it", "fail", "nonsense", "judge raves"] {
            send(world.agent(path, words, &world.key));
        }
        // Its own key comes back to the client, and goes nowhere else.
        let quoting = of(world.agent(path, "quote", &world.key));
        world.secrets.of_request(&quoting);
        quoting.call(stack.gateway_addr);
        let wrong = world.secrets.make("wrong key of an agent");
        send(world.agent(path, "hello", &wrong));
        let broken = format!("{{\"input\":\"{}", world.secrets.make("broken input"));
        let answer = send(world.with_keys(Request::post(path, broken), &world.key));
        assert!(answer.status() >= 400, "{path}");
        let below = format!("{path}/{}", world.secrets.make("id"));
        send(world.with_keys(Request::get(&below), &world.key));
    }
    let counted = object!({"model": "m", "messages": [
        {"role": "user", "content": world.secrets.make("counted prompt")}]});
    for path in ["/v1/messages/count_tokens", "/v1/responses/input_tokens"] {
        let request = Request::post(path, counted.to_string());
        send(world.with_keys(request, &world.key));
    }
}

impl World {
    /// A call of an agent with secrets in every place that has one.
    fn agent(&self, path: &str, words: &str, key: &str) -> Request {
        let prompt = format!("{words} {}", self.secrets.make("agents prompt"));
        self.secrets.learn(&prompt, "a prompt");
        let rules = self.secrets.make("instructions");
        let command = object!({"command": self.secrets.make("command")});
        let result = self.secrets.make("result");
        let streams = words.contains("stream");
        let body = match path {
            RESPONSES => {
                object!({"model": "m", "stream": streams, "instructions": rules, "input": [
                {"role": "user", "content": [{"type": "input_text", "text": prompt}]},
                {"type": "function_call", "call_id": "call_1", "name": "shell", "arguments": command.to_string()},
                {"type": "function_call_output", "call_id": "call_1", "output": result}]})
            }
            _ => {
                object!({"model": "m", "stream": streams, "max_tokens": 9, "system": rules, "messages": [
                {"role": "user", "content": [{"type": "text", "text": prompt}]},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": command}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": result}]}]})
            }
        };
        self.with_keys(Request::post(path, body.to_string()), key)
    }

    /// With every header of a program that is a secret.
    fn with_keys(&self, request: Request, key: &str) -> Request {
        let passing = |what: &str| self.secrets.make_passing(what);
        let turn = object!({"turn_id": passing("turn"), "workspace": passing("workspace")});
        request
            .without_key()
            .header("X-Monitor-Api-Key", key)
            .header(
                "Authorization",
                &format!("Bearer {}", passing("agents key")),
            )
            .header("x-api-key", &passing("x api key"))
            .header("chatgpt-account-id", &passing("account"))
            .header("x-codex-turn-metadata", &turn.to_string())
            .header("session-id", &self.secrets.make("session of codex"))
            .header(
                "X-Claude-Code-Session-Id",
                &self.secrets.make("session of claude"),
            )
            .header("X-User-Id", &self.secrets.make("agents user"))
    }

    /// Looks for the keys of model servers in what is kept of calls: the files of the process, and what a backend got.
    #[track_caller]
    pub(crate) fn assert_keys_not_kept(&self, stack: &Stack, sent: &[Received]) {
        let mut kept = Vec::new();
        files(&stack.data_dir(), &mut kept);
        let has_prompt = |(_, bytes): &(String, Vec<u8>)| contains(bytes, b"s3cret-agents-prompt");
        assert!(kept.iter().any(has_prompt), "files whose texts can be read");
        let bytes = |got: &Received| [&got.head.raw[..], &got.body[..]].concat();
        kept.extend(
            sent.iter()
                .map(|got| ("the backend".to_owned(), bytes(got))),
        );
        self.secrets.assert_not_kept(&kept);
    }
}

/// The names and the bytes of all files below a folder.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            // One that has been removed meanwhile is no longer kept.
            let bytes = std::fs::read(&path).unwrap_or_default();
            found.push((path.display().to_string(), bytes));
        }
    }
}

/// What the model answers to an agent.
pub(crate) fn answer(path: &str, request: &str, said: &str) -> Vec<u8> {
    let streams = request.contains("\"stream\":true");
    let (whole, last) = match path {
        MESSAGES => {
            let message = object!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": said}, {"type": "tool_use", "id": "toolu_2", "name": "shell",
                "input": {"command": said}}], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}});
            (
                message.clone(),
                object!({"type": "message_start", "message": message}),
            )
        }
        RESPONSES => {
            let response = object!({"id": "resp_1", "object": "response", "status": "completed", "model": "m",
                "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}]});
            (
                response.clone(),
                object!({"type": "response.completed", "response": response}),
            )
        }
        _ => (object!({}), Value::Null),
    };
    match streams {
        true => sse(&[&format!(
            "event: {}\ndata: {last}\n\n",
            last["type"].as_str().unwrap_or_default()
        )]),
        false => json(200, &whole.to_string()),
    }
}

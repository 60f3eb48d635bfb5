//! Claude Code by a replay: requests of its shape and headers, answers read by its rules, with the environment of
//! docs/agents.md. It may not be handed on, so the program itself is in no test.
//!
//! Long because: it is one program, what it asks and how it reads answers.

use super::model::{MADE, Model, SAID, Shell};
use super::program::APPLICATION;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;
use support::KEY;
use support::backend::Backend;
use support::fault::refusing_address;
use support::http::Response;
use support::request::Request;
use support::snippets::{self, ClaudeCodeSettings};
use support::stack::{Builder, Stack};
use support::upstream::{SSE_HEAD, Upstream, json as answer_of};

const PATH: &str = "/v1/messages?beta=true";
const SESSION: &str = "0b9d1f6e-52c4-4d0e-9f0a-2f6f5f3c1a11";
const PHRASE: &str = "This is not allowed here.";
const FORBIDDEN: &str = "forbidden";
const BASH: Shell = Shell {
    name: "Bash",
    argument: "command",
};
/// CLAUDE_CODE_MAX_RETRIES=2.
const MOST_TRIES: usize = 3;

/// One session of the program.
struct ClaudeCode {
    settings: ClaudeCodeSettings,
    model: String,
    messages: Vec<Value>,
    /// The bodies that it has posted.
    posted: Vec<String>,
    /// The commands that it has run.
    ran: Vec<String>,
    /// The ids of answers: two of one id would be merged in its history.
    ids: HashSet<String>,
}

/// An answer that is complete.
struct Answer {
    id: String,
    model: String,
    content: Vec<Value>,
}

impl ClaudeCode {
    fn of(stack: &Stack) -> Self {
        Self {
            settings: settings(stack),
            model: "m-1".to_owned(),
            messages: Vec::new(),
            posted: Vec::new(),
            ran: Vec::new(),
            ids: HashSet::new(),
        }
    }

    /// What a person sees of the turn that this begins.
    fn turn(&mut self, prompt: &str) -> String {
        let text = |text: &str| json!({"type": "text", "text": text});
        let reminder = text("<system-reminder>\nThe date is of no interest.\n</system-reminder>");
        self.say(json!([reminder, text(prompt)]));
        if self.messages.len() == 1 {
            let context = json!({"role": "system", "content": "Context of a replay."});
            self.messages.push(context);
        }
        loop {
            let answer = match self.ask() {
                Ok(answer) => answer,
                Err(error) => return error,
            };
            assert!(self.ids.insert(answer.id), "two answers of one id");
            // A resumed session goes on with the model that answered.
            self.model = answer.model;
            let content = answer.content;
            let calls = content.iter().filter(|block| block["type"] == "tool_use");
            let results: Vec<Value> = calls.map(|call| self.run(call)).collect();
            let texts = content.iter().filter_map(|block| block["text"].as_str());
            let texts: Vec<&str> = texts.collect();
            let shown = texts.join("\n");
            self.messages
                .push(json!({"role": "assistant", "content": content}));
            if results.is_empty() {
                return shown;
            }
            self.say(Value::from(results));
        }
    }

    fn say(&mut self, content: Value) {
        self.messages
            .push(json!({"role": "user", "content": content}));
    }

    fn run(&mut self, call: &Value) -> Value {
        self.ran
            .push(call["input"]["command"].as_str().unwrap().to_owned());
        json!({"type": "tool_result", "tool_use_id": call["id"], "content": "(no output)", "is_error": false})
    }

    /// One step of a turn: the answer, or the error that is shown.
    fn ask(&mut self) -> Result<Answer, String> {
        let mut tries = 0;
        loop {
            tries += 1;
            let answer = self.post(true);
            if answer.status() == 200 {
                return Ok(match streamed(&answer) {
                    Some(answer) => answer,
                    // It asks again without a stream where one has broken.
                    None => whole(&self.post(false)),
                });
            }
            let is_final = answer.head.header("x-should-retry") == Some("false");
            if is_final || tries == MOST_TRIES {
                let error = answer.json();
                assert_eq!(error["type"], "error", "the form of the API");
                let message = error["error"]["message"].as_str().unwrap();
                return Err(format!("API Error: {} {message}", answer.status()));
            }
        }
    }

    fn post(&mut self, streams: bool) -> Response {
        let body = self.body(streams);
        let gateway = self.settings.base_url.strip_prefix("http://").unwrap();
        let mut request = Request::post(PATH, &body)
            .without_key()
            .header("Accept", "application/json")
            .header("Anthropic-Beta", "claude-code-20250219")
            .header("Anthropic-Version", "2023-06-01")
            .header("User-Agent", "claude-cli/2.1.330 (external, sdk-cli)")
            .header("X-Api-Key", "sk-of-nobody")
            .header("X-App", "cli")
            .header("X-Application-Id", APPLICATION)
            .header("X-Claude-Code-Session-Id", SESSION)
            .header("X-Stainless-Lang", "js")
            .header("X-Stainless-Retry-Count", "0");
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        self.posted.push(body);
        request.call(gateway.parse().unwrap())
    }

    fn body(&self, streams: bool) -> String {
        let user = json!({"device_id": "d-1", "account_uuid": "", "session_id": SESSION});
        let system = [
            "x-anthropic-billing-header: cc_version=2.1.330; cc_entrypoint=sdk-cli;",
            "You are a replay.",
            "Nothing else is to be known of it.",
        ];
        let system = system.map(|text| json!({"type": "text", "text": text}));
        let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
        let tool =
            json!({"name": BASH.name, "description": "Runs a command.", "input_schema": schema});
        let body = json!({
            "model": self.model, "messages": self.marked(), "system": system, "tools": [tool],
            "metadata": {"user_id": user.to_string()}, "max_tokens": 32_000, "stream": streams,
        });
        body.to_string()
    }

    /// The messages with the mark of the cache on the newest block; where it has moved on, a message of one text is
    /// sent as that text.
    fn marked(&self) -> Vec<Value> {
        let mut messages = self.messages.clone();
        let newest = messages.iter().rposition(|one| one["role"] == "user");
        for (index, message) in messages.iter_mut().enumerate() {
            let Some(blocks) = message["content"].as_array_mut() else {
                continue;
            };
            if Some(index) == newest {
                let block = blocks.last_mut().unwrap();
                block["cache_control"] = json!({"type": "ephemeral"});
            } else if let [block] = &blocks[..]
                && block["type"] == "text"
            {
                message["content"] = block["text"].clone();
            }
        }
        messages
    }
}

/// What its environment says for this gateway.
fn settings(stack: &Stack) -> ClaudeCodeSettings {
    let gateway = format!("http://{}", stack.gateway_addr);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    snippets::claude_code(&snippets::of_agent(root, "sh", &gateway), KEY)
}

/// An answer that came as a stream; None where it broke.
fn streamed(answer: &Response) -> Option<Answer> {
    assert_eq!(
        answer.head.header("content-type"),
        Some("text/event-stream"),
        "a whole answer would be asked for again"
    );
    let text = answer.text();
    let (mut message, mut content) = (Value::Null, Vec::new());
    let mut input = String::new();
    for frame in text.split_terminator("\n\n") {
        // A frame without a name is dropped.
        let Some((_, data)) = frame
            .strip_prefix("event: ")
            .and_then(|frame| frame.split_once("\ndata: "))
        else {
            continue;
        };
        let mut event: Value = serde_json::from_str(data).ok()?;
        match event["type"].as_str()? {
            "message_start" => message = event["message"].take(),
            "content_block_start" => {
                input.clear();
                content.push(event["content_block"].take());
            }
            "content_block_delta" => {
                let (block, delta) = (content.last_mut()?, &event["delta"]);
                if let Some(more) = delta["text"].as_str() {
                    let text = block["text"].as_str().unwrap_or_default().to_owned();
                    block["text"] = (text + more).into();
                }
                input += delta["partial_json"].as_str().unwrap_or_default();
            }
            // A tool runs here, before the answer has ended.
            "content_block_stop" => {
                let block = content.last_mut()?;
                if block["type"] == "tool_use" {
                    block["input"] =
                        serde_json::from_str(&input).expect("arguments that are whole");
                }
            }
            "message_delta" => {
                let reason = &event["delta"]["stop_reason"];
                assert_ne!(
                    reason, "refusal",
                    "its text would be replaced, and asked for again"
                );
            }
            "message_stop" => {
                let model = message["model"].as_str()?.to_owned();
                let id = message["id"].as_str()?.to_owned();
                return Some(Answer { id, model, content });
            }
            "error" => return None,
            _ => {}
        }
    }
    None
}

#[track_caller]
fn whole(answer: &Response) -> Answer {
    assert_eq!(answer.status(), 200, "{}", answer.text());
    let answer = answer.json();
    Answer {
        id: answer["id"].as_str().unwrap().to_owned(),
        model: answer["model"].as_str().unwrap().to_owned(),
        content: answer["content"].as_array().unwrap().clone(),
    }
}

fn gateway(model: &Upstream, backend: &Backend, policy: &str) -> Builder {
    let yaml = format!("applications:\n- {{id: {APPLICATION}, {policy}}}");
    Stack::gateway()
        .upstream(model)
        .monitor(backend)
        .yaml(&yaml)
}

fn sync(fields: &str) -> String {
    format!("app_mode: sync, phrase: {PHRASE}{fields}")
}

/// The bodies that reached the model server.
fn arrived(model: &Upstream) -> Vec<String> {
    let requests = model.seen().requests.into_iter();
    requests
        .map(|request| String::from_utf8(request.body).unwrap())
        .collect()
}

#[test]
fn claude_code_shows_an_answer_runs_its_tool_and_is_recorded_by_session() {
    let (model, backend) = (Model::RunsThenSays.start(BASH), Backend::start());
    let stack = gateway(&model, &backend, "app_mode: async").start();
    let mut program = ClaudeCode::of(&stack);
    assert_eq!(program.turn("say something kind"), SAID);
    assert_eq!(program.ran, [format!("touch {MADE}")]);
    assert_eq!(arrived(&model), program.posted, "byte for byte");
    assert_eq!(program.posted.len(), 2);
    let calls = backend.await_posts(2);
    for call in &calls {
        assert_eq!(*call.parameter("session_id"), SESSION);
        // Without an account, as with an API key.
        assert_eq!(*call.parameter("user_id"), "d-1");
    }
    // The last words of a person, before what the program adds to them; the result of a tool is none.
    for call in calls.iter().filter(|call| call.is_pre()) {
        assert!(
            call.message().starts_with("say something kind"),
            "{}",
            call.message()
        );
    }
}

#[test]
fn claude_code_shows_the_phrase_of_a_blocked_prompt_and_goes_on_with_its_model() {
    let (model, backend) = (Model::Says.start(BASH), Backend::flagging(FORBIDDEN));
    let stack = gateway(&model, &backend, &sync("")).start();
    let mut program = ClaudeCode::of(&stack);
    assert_eq!(program.turn("say something forbidden"), PHRASE);
    assert_eq!(program.posted.len(), 1);
    model.assert_untouched();
    assert_eq!(program.turn("say something kind"), SAID);
    assert_eq!(arrived(&model), program.posted[1..], "one call each");
    assert!(program.posted[1].contains(r#""model":"m-1""#));
}

#[test]
fn claude_code_runs_no_tool_in_whose_arguments_something_was_found() {
    let (model, backend) = (Model::Pays.start(BASH), Backend::start());
    let stack = gateway(&model, &backend, &sync(", stream_in_sync: hold_back")).start();
    let mut program = ClaudeCode::of(&stack);
    let shown = program.turn("say something kind");
    assert!(shown.ends_with(PHRASE), "{shown}");
    assert_eq!(program.ran, [""; 0]);
    assert_eq!((program.posted.len(), arrived(&model).len()), (1, 1));
}

#[test]
fn claude_code_asks_once_more_without_a_stream_where_one_broke_and_that_is_checked_too() {
    let model = Upstream::scripted(|peer| {
        while let Some(request) = peer.read_request() {
            if !support::contains(&request.body, br#""stream":true"#) {
                peer.send(answer_of(200, &plain_answer()));
                continue;
            }
            let begun = json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
                "model": "m-1", "content": [], "usage": {"input_tokens": 3, "output_tokens": 0}}});
            peer.send(SSE_HEAD);
            peer.send_chunk(format!("event: message_start\ndata: {begun}\n\n"));
            return;
        }
    });
    let backend = Backend::start();
    let stack = gateway(&model, &backend, &sync("")).start();
    let mut program = ClaudeCode::of(&stack);
    assert_eq!(program.turn("say something kind"), SAID);
    assert_eq!(arrived(&model), program.posted, "byte for byte");
    let [first, second] = &program.posted[..] else {
        panic!("{} calls", program.posted.len());
    };
    assert_eq!(
        first.replace(r#""stream":true"#, r#""stream":false"#),
        *second
    );
    // Each of them is recorded, with its prompt checked.
    let calls = backend.await_posts(2);
    assert_eq!(calls.iter().filter(|call| call.is_pre()).count(), 2);
    let posts = calls.iter().filter(|call| !call.is_pre());
    let failed = posts.filter(|call| !call.parameter("error").is_null());
    assert_eq!(failed.count(), 1);
}

fn plain_answer() -> String {
    let text = json!({"type": "text", "text": SAID});
    let answer = json!({"id": "msg_2", "type": "message", "role": "assistant", "model": "m-1", "content": [text],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": {"input_tokens": 3, "output_tokens": 2}});
    answer.to_string()
}

#[test]
fn claude_code_shows_errors_of_the_gateway_at_once_and_tries_again_beyond_a_limit() {
    let (model, backend) = (Model::Says.start(BASH), Backend::start());
    let stack = gateway(&model, &backend, "app_mode: async").start();
    let mut program = ClaudeCode::of(&stack);
    program.settings.headers.clear();
    let shown = program.turn("say something kind");
    assert!(
        shown.starts_with("API Error: 401 the header X-Monitor-Api-Key is missing"),
        "{shown}"
    );
    assert_eq!(program.posted.len(), 1);

    let nowhere = format!("http://{}", refusing_address());
    let stack = gateway(&model, &backend, "app_mode: async").env("UPSTREAM_URL", nowhere);
    let stack = stack.start();
    let mut program = ClaudeCode::of(&stack);
    let shown = program.turn("say something kind");
    assert!(
        shown.starts_with("API Error: 502 the upstream cannot be reached"),
        "{shown}"
    );
    assert_eq!(program.posted.len(), 1);

    let limit = "app_mode: async, limits: {requests_per_minute: 1, burst: 1}";
    let stack = gateway(&model, &backend, limit).start();
    let mut program = ClaudeCode::of(&stack);
    assert_eq!(program.turn("say something kind"), SAID);
    let shown = program.turn("say something more");
    assert!(shown.starts_with("API Error: 429 "), "{shown}");
    assert_eq!(program.posted.len(), 1 + MOST_TRIES);
    assert_eq!(arrived(&model).len(), 1);
}

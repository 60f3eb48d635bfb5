//! What users of common libraries see of each kind of answer, and the table of it in docs/clients.md:
//! `UPDATE_DOCS=1` writes it, without the variable a difference fails. The scripts `matrix.py` and `matrix.mjs` hold
//! the libraries.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use support::KEY;
use support::backend::Backend;
use support::markdown::generated;
use support::stack::Stack;
use support::upstream::{DONE, Upstream, delta, sse};

const HELLO: &str = "hello";
/// What the backend flags.
const FORBIDDEN: &str = "forbidden";
const PRIVATE: &str = "write to anna@example.com";
const ANSWER: &str = "Hello from the model.";
const RESTORED: &str = "Writing to anna@example.com.";
const WEATHER: &str = "weather Paris";
const PHRASE: &str = "This is not allowed here.";

/// Applications by the fields of their policies.
const POLICIES: [(&str, &str); 6] = [
    ("async", "app_mode: async"),
    ("redact", "app_mode: async, redact_upstream: true"),
    ("off", "app_mode: sync"),
    ("header", "app_mode: sync, block_details: header"),
    ("hold_back", "app_mode: sync, stream_in_sync: hold_back"),
    ("replay", "app_mode: sync, stream_in_sync: replay"),
];

/// A column: its title, what the library does, the policy, the prompt, and what its user should see.
struct Column {
    title: String,
    action: &'static str,
    policy: &'static str,
    prompt: &'static str,
    expected: &'static str,
}

fn columns() -> Vec<Column> {
    let column = |title: &str, action, policy, prompt| Column {
        title: title.to_owned(),
        action,
        policy,
        prompt,
        expected: match prompt {
            FORBIDDEN => PHRASE,
            PRIVATE => RESTORED,
            _ if action == "tools" => WEATHER,
            _ => ANSWER,
        },
    };
    let mut columns = vec![
        column("call", "call", "async", HELLO),
        column("stream", "stream", "async", HELLO),
        column("tools", "tools", "async", HELLO),
        column("redact", "stream", "redact", PRIVATE),
        column("blocked call", "call", "off", FORBIDDEN),
        column("blocked call, `header`", "call", "header", FORBIDDEN),
    ];
    for policy in ["off", "hold_back", "replay"] {
        for (what, prompt) in [("stream", HELLO), ("blocked", FORBIDDEN)] {
            let title = format!("`{policy}`: {what}");
            columns.push(column(&title, "stream", policy, prompt));
        }
    }
    columns
}

/// Cells that need not be shown, by library and title; `*` stands for every library.
const EXPLAINED: [(&str, &str); 7] = [
    // §3: sync mode gives no stream.
    ("*", "`off`: stream"),
    ("*", "`off`: blocked"),
    // Its metadata are texts only.
    ("pydantic-ai", "blocked call"),
    // Its chunks have ids of their own.
    ("langchain-openai", "`hold_back`: blocked"),
    ("langchain-openai", "`replay`: blocked"),
    // A phrase is no object of the response model; the exception carries the answer.
    ("instructor", "blocked call"),
    ("instructor", "blocked call, `header`"),
];

/// Libraries that hand over no id of an answer.
const WITHOUT_ID: [&str; 3] = ["openai-agents", "autogen", "haystack"];

/// A model that calls the tool it is offered, and else says a sentence.
fn model() -> Upstream {
    Upstream::answering(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let is_answered = messages.iter().any(|message| message["role"] == "tool");
        let offers = body["tools"]
            .as_array()
            .is_some_and(|tools| !tools.is_empty());
        let text = match body.to_string().contains("[EMAILS_1]") {
            true => "Writing to [EMAILS_1].",
            false => ANSWER,
        };
        if body["stream"] == true {
            let role =
                delta(0, "").replace(r#"{"content":""}"#, r#"{"content":"","role":"assistant"}"#);
            let end = delta(0, "").replace(r#"{"content":""}"#, "{}");
            let end = end.replace(r#""finish_reason":null"#, r#""finish_reason":"stop""#);
            let (first, rest) = text.split_at(9);
            return sse(&[&role, &delta(0, first), &delta(0, rest), &end, DONE]);
        }
        let message = match offers && !is_answered {
            true => {
                json!({"role": "assistant", "content": null, "tool_calls": [{"id": "t-1", "type": "function",
                "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}}]})
            }
            false => json!({"role": "assistant", "content": text}),
        };
        let reason = if offers && !is_answered {
            "tool_calls"
        } else {
            "stop"
        };
        let answer = json!({"id": "c-1", "object": "chat.completion", "created": 1, "model": "test-model",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}});
        support::upstream::json(200, &answer.to_string())
    })
}

fn application(policy: &str) -> String {
    let place = POLICIES.iter().position(|(name, _)| *name == policy);
    format!("6f1c0000-0000-4000-8000-00000000000{}", place.unwrap())
}

/// A gateway with an application for every policy.
fn gateway(upstream: &Upstream, backend: &Backend) -> Stack {
    let mut yaml = "applications:\n".to_owned();
    for (name, fields) in POLICIES {
        yaml += &format!(
            "- {{id: {}, phrase: {PHRASE:?}, {fields}}}\n",
            application(name)
        );
    }
    let stack = Stack::gateway().upstream(upstream).monitor(backend);
    stack.yaml(&yaml).start()
}

/// One library: its row of the table, or what is wrong with it.
struct Library {
    name: &'static str,
    /// As the table names it: by its package, and by its language where two share a name.
    title: &'static str,
    version: Option<String>,
    cells: BTreeMap<String, Value>,
}

/// Runs a script for a library.
#[track_caller]
fn library(stack: &Stack, command: &mut Command, [name, title]: [&'static str; 2]) -> Library {
    let columns = columns().into_iter();
    let cells = columns.map(|column| {
        let app = application(column.policy);
        let is_block = column.expected == PHRASE;
        json!([
            column.title,
            column.action,
            app,
            column.prompt,
            column.expected,
            is_block
        ])
    });
    let cells: Vec<Value> = cells.collect();
    let base = format!("http://{}/v1", stack.gateway_addr);
    let output = command
        .args([name, &base, KEY, &json!(cells).to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    let Ok(seen) = serde_json::from_str::<Value>(last) else {
        panic!("{name}: {text}{}", String::from_utf8_lossy(&output.stderr));
    };
    Library {
        name,
        title,
        version: seen["version"].as_str().map(str::to_owned),
        cells: serde_json::from_value(seen["cells"].clone()).unwrap(),
    }
}

impl Library {
    fn cell(&self, title: &str) -> String {
        match self.cells[title].as_str() {
            None => "–".to_owned(),
            Some("shown") => "✓".to_owned(),
            Some("no id") => "✓ no id".to_owned(),
            Some("nothing") => "nothing".to_owned(),
            Some(failure) => format!("`{failure}`"),
        }
    }

    fn row(&self) -> String {
        let version = self.version.as_deref().unwrap_or_default();
        let cells = columns().into_iter();
        let cells = cells.map(|column| self.cell(&column.title));
        let first = format!("{} {version}", self.title).trim_end().to_owned();
        let cells: Vec<String> = std::iter::once(first).chain(cells).collect();
        format!("| {} |", cells.join(" | "))
    }

    /// The cells in which its user does not see what is sent, although nothing explains it.
    fn unexplained(&self) -> Vec<String> {
        let is_explained = |title: &str| {
            let mut known = EXPLAINED.iter();
            known.any(|(name, cell)| *cell == title && (*name == "*" || *name == self.name))
        };
        let cells = columns().into_iter().map(|column| column.title);
        cells
            .filter(|title| !is_explained(title))
            .filter(|title| match &*self.cell(title) {
                "✓" | "–" => false,
                "✓ no id" => !WITHOUT_ID.contains(&self.name),
                _ => true,
            })
            .map(|title| format!("{}, {title}: {}", self.title, self.cell(&title)))
            .collect()
    }
}

#[test]
#[ignore = "needs Python, Node.js, curl and packages of both"]
fn the_page_of_clients_says_what_each_library_shows() {
    // §2.4, §3, CONTRACT 41, 43.
    let (upstream, backend) = (model(), Backend::flagging(FORBIDDEN));
    let stack = gateway(&upstream, &backend);
    let python = |variable: &str| support::tool(variable);
    let mut libraries = Vec::new();
    for (variable, names) in [
        (
            "MONITOR_TEST_PYTHON",
            &[
                ["openai", "openai (Python)"],
                ["langchain-openai", "langchain-openai (Python)"],
                ["pydantic-ai", "pydantic-ai-slim"],
                ["openai-agents"; 2],
                ["autogen", "autogen-agentchat"],
                ["haystack", "haystack-ai"],
                ["curl", "curl"],
            ][..],
        ),
        (
            "MONITOR_TEST_PYTHON_OPENAI_2",
            &[
                ["openai", "openai (Python)"],
                ["litellm", "litellm"],
                ["llama-index", "llama-index-llms-openai-like"],
                ["instructor", "instructor"],
            ],
        ),
    ] {
        for names in names {
            let mut command = Command::new(python(variable));
            let command = command.arg(super::script("matrix.py"));
            libraries.push(library(&stack, command, *names));
        }
    }
    let folder = support::tool("MONITOR_TEST_NODE_DIR");
    let copy = Path::new(&folder).join(format!("matrix-{}.mjs", std::process::id()));
    std::fs::copy(super::script("matrix.mjs"), &copy).unwrap();
    for names in [
        ["openai", "openai (Node.js)"],
        ["@ai-sdk/openai-compatible"; 2],
        ["@ai-sdk/openai"; 2],
        ["@langchain/openai"; 2],
    ] {
        let mut command = Command::new("node");
        libraries.push(library(&stack, command.arg(&copy), names));
    }
    std::fs::remove_file(copy).unwrap();
    let titles = columns().into_iter().map(|column| column.title);
    let titles: Vec<String> = titles.collect();
    let mut table = format!(
        "| Library | {} |\n|---|{}\n",
        titles.join(" | "),
        "---|".repeat(titles.len())
    );
    for library in &libraries {
        table += &library.row();
        table.push('\n');
    }
    println!("{table}");
    let unexplained: Vec<String> = libraries.iter().flat_map(Library::unexplained).collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    generated(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        "docs/clients.md",
        "matrix",
        &table,
    );
}

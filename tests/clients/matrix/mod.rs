//! What users of common libraries see of each kind of answer, and the table of it in docs/clients.md:
//! `UPDATE_DOCS=1` writes it, without the variable a difference fails. The scripts `matrix.py`, `matrix.mjs` and
//! `website.js` hold the libraries.

mod library;
mod model;
mod notes;
mod responses;

use crate::website::Website;
use library::Library;
use model::{ANSWER, RESTORED, WEATHER, model};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use support::KEY;
use support::backend::Backend;
use support::markdown::generated;
use support::stack::Stack;

const HELLO: &str = "hello";
/// What the backend flags.
const FORBIDDEN: &str = "forbidden";
const PRIVATE: &str = "write to anna@example.com";
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

/// Libraries for Python by the environment that has them: the name that the script knows, and that of the table.
const PYTHON: [(&str, &[[&str; 2]]); 4] = [
    (
        "MONITOR_TEST_PYTHON",
        &[
            ["openai", "openai (Python)"],
            ["langchain-openai", "langchain-openai (Python)"],
            ["pydantic-ai", "pydantic-ai-slim"],
            ["openai-agents"; 2],
            ["openai-agents-responses", "openai-agents (Responses)"],
            ["autogen", "autogen-agentchat"],
            ["haystack", "haystack-ai"],
            ["curl"; 2],
            ["curl-http2", "curl --http2-prior-knowledge"],
        ],
    ),
    (
        "MONITOR_TEST_PYTHON_OPENAI_2",
        &[
            ["openai", "openai (Python)"],
            ["litellm"; 2],
            ["llama-index", "llama-index-llms-openai-like"],
            ["instructor"; 2],
            ["h2", "h2 (Python)"],
        ],
    ),
    (
        "MONITOR_TEST_PYTHON_OPENAI_1",
        &[["openai", "openai (Python)"]],
    ),
    (
        "MONITOR_TEST_PYTHON_SEMANTIC_KERNEL",
        &[["semantic-kernel"; 2], ["httpx"; 2], ["aiohttp"; 2]],
    ),
];

const NODE: [[&str; 2]; 4] = [
    ["openai", "openai (Node.js)"],
    ["@ai-sdk/openai-compatible"; 2],
    ["@ai-sdk/openai"; 2],
    ["@langchain/openai"; 2],
];

/// A column: its title, what the library does, the policy, the prompt, and what its user should see.
struct Column {
    title: String,
    action: &'static str,
    policy: &'static str,
    prompt: &'static str,
    expected: &'static str,
}

impl Column {
    fn is_block(&self) -> bool {
        self.expected == PHRASE
    }
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

fn application(policy: &str) -> String {
    let place = POLICIES.iter().position(|(name, _)| *name == policy);
    format!("6f1c0000-0000-4000-8000-00000000000{}", place.unwrap())
}

/// What a library is to do for each cell, as the scripts take it.
fn tasks() -> Value {
    let tasks = columns().into_iter().map(|column| {
        let app = application(column.policy);
        json!([column.title, column.action, app, column.prompt])
    });
    tasks.collect()
}

fn base(stack: &Stack) -> String {
    format!("http://{}/v1", stack.gateway_addr)
}

/// What a script prints for a library.
#[track_caller]
fn seen(stack: &Stack, command: &mut Command, name: &str) -> Value {
    let command = command.args([name, &base(stack), KEY, &tasks().to_string()]);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    serde_json::from_str(last)
        .unwrap_or_else(|_| panic!("{name}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn python(stack: &Stack) -> Vec<Library> {
    let rows = PYTHON.iter().flat_map(|(variable, libraries)| {
        let program = support::tool(variable);
        libraries.iter().map(move |names| {
            let mut command = Command::new(&program);
            let command = command.arg(crate::script("matrix.py"));
            Library::new(*names, &seen(stack, command, names[0]))
        })
    });
    rows.collect()
}

/// The script is copied beside the installed libraries, where module resolution finds them.
fn node(stack: &Stack) -> Vec<Library> {
    let folder = support::tool("MONITOR_TEST_NODE_DIR");
    let copy = Path::new(&folder).join(format!("matrix-{}.mjs", std::process::id()));
    std::fs::copy(crate::script("matrix.mjs"), &copy).unwrap();
    let rows = NODE.map(|names| {
        let mut command = Command::new("node");
        Library::new(names, &seen(stack, command.arg(&copy), names[0]))
    });
    std::fs::remove_file(copy).unwrap();
    rows.into()
}

#[test]
#[ignore = "needs Python, Node.js, curl, Chromium and packages of the first two"]
fn the_page_of_clients_says_what_each_library_shows() {
    // §2.4, §3, CONTRACT 41, 43.
    let (upstream, backend) = (model(), Backend::flagging(FORBIDDEN));
    let mut website = Website::open();
    let mut yaml = format!("{}applications:\n", website.may_call());
    for (name, fields) in POLICIES {
        let id = application(name);
        yaml += &format!("- {{id: {id}, phrase: {PHRASE:?}, {fields}}}\n");
    }
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let stack = stack.yaml(&yaml).start();
    let mut libraries = python(&stack);
    libraries.extend(node(&stack));
    let page = website.value(&format!("filled({:?}, {KEY:?}, {})", base(&stack), tasks()));
    libraries.push(Library::new(["fetch", "fetch (Chromium)"], &page));
    libraries.sort_by_key(|library| library.heading().to_lowercase());
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
    let faults: Vec<String> = libraries.iter().flat_map(Library::faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    generated(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        "docs/clients.md",
        "matrix",
        &format!("{table}\n{}", notes::list()),
    );
}

//! The blocks of pages, and what programs take from them: tests that use a setting read it where people do, so that the
//! two cannot differ.

use std::path::Path;
use std::process::Command;

/// The gateway of the pages.
pub const GATEWAY: &str = "http://127.0.0.1:4100";
const AGENTS: &str = "docs/agents.md";

/// The blocks of a page in a language, in order.
#[track_caller]
pub fn blocks(root: &Path, page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root.join(page)).unwrap();
    let mut blocks = Vec::new();
    let begin = format!("\n```{language}\n");
    for part in text.split(&begin).skip(1) {
        let (block, _) = part.split_once("\n```").expect("an end of the block");
        blocks.push(block.to_owned());
    }
    blocks
}

/// The blocks of docs/agents.md in a language, for the gateway at this address.
#[track_caller]
pub fn of_agents(root: &Path, language: &str, gateway: &str) -> Vec<String> {
    let blocks = blocks(root, AGENTS, language);
    assert!(!blocks.is_empty(), "{AGENTS} has no {language}");
    let own = |block: String| {
        assert!(block.contains(GATEWAY), "{block}");
        block.replace(GATEWAY, gateway)
    };
    blocks.into_iter().map(own).collect()
}

/// The only one of these blocks in its language that sets a program up.
#[track_caller]
pub fn of_agent(root: &Path, language: &str, gateway: &str) -> String {
    let mut blocks = of_agents(root, language, gateway);
    // Others make a call.
    blocks.retain(|block| !block.contains("curl "));
    assert_eq!(blocks.len(), 1, "{blocks:#?}");
    blocks.remove(0)
}

/// What Claude Code takes from its environment.
#[derive(Debug, PartialEq, Eq)]
pub struct ClaudeCodeSettings {
    /// `ANTHROPIC_BASE_URL`.
    pub base_url: String,
    /// `ANTHROPIC_CUSTOM_HEADERS`, a line each.
    pub headers: Vec<(String, String)>,
}

/// What a block of shell sets for it where `MONITOR_API_KEY` has this value.
#[track_caller]
pub fn claude_code(block: &str, key: &str) -> ClaudeCodeSettings {
    let names = "\"$ANTHROPIC_BASE_URL\" \"$ANTHROPIC_CUSTOM_HEADERS\"";
    let output = Command::new("/bin/sh")
        .args(["-euc", &format!("{block}\nprintf '%s\\n%s' {names}")])
        .env_clear()
        .env("MONITOR_API_KEY", key)
        .output()
        .unwrap();
    assert!(output.status.success(), "{block}\n{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let (base_url, headers) = said.split_once('\n').unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").expect("a header on each line");
        (name.to_owned(), value.to_owned())
    };
    ClaudeCodeSettings {
        base_url: base_url.to_owned(),
        headers: headers.lines().map(header).collect(),
    }
}

/// A setting with a part of it replaced, which stands there once.
#[track_caller]
pub fn replaced(block: &str, part: &str, by: &str) -> String {
    assert_eq!(block.matches(part).count(), 1, "{part} in\n{block}");
    block.replace(part, by)
}

//! The Python of docs/agents.md, run as it stands but for the gateway's address.

use std::path::Path;
use std::process::Command;
use support::snippets::of_agents;
use support::stack::Stack;
use support::{KEY, eventually};

/// What each block, in their order, imports its client from, and the route that it calls.
const BLOCKS: [(&str, &str); 3] = [
    ("from agents import ", "responses"),
    ("from openai import OpenAI\n", "responses"),
    ("from anthropic import ", "messages"),
];

#[test]
#[ignore = "needs Python and its packages"]
fn the_python_of_the_page_of_agents_prints_the_answer() {
    // §1.1: the libraries need no more than an address and a header.
    let python = support::tool("MONITOR_TEST_PYTHON");
    let stack = Stack::all().start();
    let gateway = format!("http://{}", stack.gateway_addr);
    let blocks = of_agents(Path::new(env!("CARGO_MANIFEST_DIR")), "python", &gateway);
    assert_eq!(blocks.len(), BLOCKS.len(), "{blocks:#?}");
    for (block, (import, route)) in blocks.iter().zip(BLOCKS) {
        assert!(block.contains(import), "{block}");
        let counted = format!("monitor_requests_total{{outcome=\"ok\",route=\"{route}\"}}");
        let before = stack.metric(&counted);
        let output = Command::new(&python)
            .args(["-c", block])
            .env("MONITOR_API_KEY", KEY)
            .env("OPENAI_API_KEY", "sk-of-nobody")
            .env("ANTHROPIC_API_KEY", "sk-of-nobody")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{block}\n{text}");
        assert!(
            text.contains("This is the demo upstream."),
            "{block}\n{text}"
        );
        eventually("the call is counted", || {
            (stack.metric(&counted) > before).then_some(())
        });
    }
}

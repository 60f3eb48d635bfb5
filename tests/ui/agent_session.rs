//! The session of an agent that called a tool, from its calls through the gateway to the page that shows it (§1.7,
//! CONTRACT 46).

use crate::agent::{APIS, Api, TOOL};
use crate::defence::add_application;
use crate::world::administrator;
use serde_json::{Value, json};
use support::api::records;
use support::eventually;
use support::stack::Stack;

/// It orders a call of the demo model.
const PROMPT: &str = r#"What is in it? tool:read_file {"path":"notes.txt"}"#;
const RESULT: &str = "bread, milk & <b>eggs</b>";

/// An agent in one session.
struct Agent<'s> {
    stack: &'s Stack,
    application: &'s str,
    api: Api,
    streams: bool,
    history: Vec<Value>,
    calls: usize,
}

impl Agent<'_> {
    fn session(&self) -> String {
        format!("{:?}-{}", self.api, self.streams)
    }

    /// Sends the history and gives the answer, once both of its sides are stored.
    #[track_caller]
    fn turn(&mut self) -> Value {
        let call = self.api.request("demo-small", self.streams, &self.history);
        let call = call
            .header("X-Application-Id", self.application)
            .header(self.api.session_header(), &self.session());
        let answer = self.api.whole(&self.stack.call(&call), self.streams);
        self.calls += 1;
        let query = format!("session_id={}", self.session());
        eventually("the records of the call", || {
            (records(self.stack, &query).len() == 2 * self.calls).then_some(())
        });
        answer
    }
}

#[test]
fn a_session_of_an_agent_shows_prompt_call_result_and_answer_in_every_api() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let side = json!({"dataclean": {"patterns": ["EMAILS"]}});
    let rules = json!({"keep_original": true, "pre": side, "post": side});
    let application = add_application(
        &stack,
        &json!({"name": "agent", "policy": {"app_mode": "async"}, "rules": rules}),
    );
    for (api, streams) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
        let mut agent = Agent {
            stack: &stack,
            application: &application,
            api,
            streams,
            history: vec![json!({"role": "user", "content": PROMPT})],
            calls: 0,
        };
        let called = agent.turn();
        assert_eq!(
            api.call(&called),
            (&json!(TOOL), json!({"path": "notes.txt"})),
            "{called}"
        );
        assert_eq!(api.said(&called), "", "{called}");
        agent.history.extend(api.ran(&called, RESULT));
        let answer = agent.turn();
        let said = api.said(&answer);
        assert!(said.starts_with("A good question"), "{answer}");
        let address = format!(
            "/ui/sessions/one?application_id={application}&session_id={}",
            agent.session()
        );
        let page = admin.get(&address).text();
        let places = [
            "What is in it? tool:read_file",
            "Tool call <code>read_file</code>",
            "{\n  &quot;path&quot;: &quot;notes.txt&quot;\n}",
            "Tool result <code>read_file</code>",
            "bread, milk &amp; &lt;b&gt;eggs&lt;/b&gt;",
            "The same prompt, with results of tools.",
            said,
        ]
        .map(|part| {
            assert_eq!(page.matches(part).count(), 1, "{part}: {page}");
            page.find(part)
        });
        assert!(places.is_sorted(), "{places:?}: {page}");
        let query = format!("session_id={}&has_tool_calls=true", agent.session());
        let found = records(&stack, &query);
        let stages: Vec<&Value> = found.iter().map(|record| &record["stage"]).collect();
        assert_eq!(
            stages,
            ["pre", "post"],
            "the result, and before it the call"
        );
    }
}

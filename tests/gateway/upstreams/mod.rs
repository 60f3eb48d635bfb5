//! Several groups of model servers (`upstreams`): which group a call goes to, and what each group has of its own.

mod choice;
mod groups;

use support::request::Request;
use support::stack::{Builder, Stack};
use support::upstream::Upstream;

/// A gateway before `upstream` and these entries.
pub(crate) fn stack(upstream: &Upstream, entries: &[String]) -> Builder {
    Stack::gateway().yaml(&yaml(upstream, entries))
}

pub(crate) fn yaml(upstream: &Upstream, entries: &[String]) -> String {
    let mut text = format!("upstream: {{url: \"{}\"}}\nupstreams:\n", upstream.url());
    for entry in entries {
        text += &format!("  - {{{entry}}}\n");
    }
    text
}

/// An entry with this name and URL; `more` says which calls it takes.
pub(crate) fn entry(name: &str, url: &str, more: &str) -> String {
    format!("name: {name}, url: \"{url}\", {more}")
}

/// A chat completion for a model, which is written as JSON.
pub(crate) fn chat(model: &str) -> Request {
    let messages = r#""messages":[{"role":"user","content":"hello"}]"#;
    Request::chat(format!("{{\"model\":{model},{messages}}}"))
}

/// A model server that answers with its name.
pub(crate) fn named(name: &'static str) -> Upstream {
    Upstream::json(200, name)
}

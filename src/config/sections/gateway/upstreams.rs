//! Further groups of model servers, each with the calls that go to it. Conflicts between entries are in
//! `validate`.

use super::upstream::{self, UpstreamSettings};
use crate::config::reading::collections::{groups, list};
use crate::config::reading::reader::Reader;
use crate::config::values::call_match::{CallMatch, ModelPattern, ModelRoute};
use crate::config::values::units::{Form, quote};

/// The key of the list.
pub(crate) const KEY: &str = "upstreams";
/// Entries of the list.
const MOST_GROUPS: usize = 64;
/// Bytes of a name.
const LONGEST_NAME: usize = 64;

/// An entry of `upstreams`: a group of model servers with a name, for the calls that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedUpstream {
    /// What logs, metrics and `/status` call it; no two entries have the same.
    pub name: String,
    /// The calls that go there, unless an entry before takes them.
    pub calls: CallMatch,
    /// Its servers. The URL is always set.
    pub servers: UpstreamSettings,
}

/// The key of the entry with this index.
pub(crate) fn entry_key(index: usize) -> String {
    format!("{KEY}[{index}]")
}

/// The entries; none where one of them is incomplete, which is reported.
pub(crate) fn read(r: &mut Reader<'_>) -> Vec<NamedUpstream> {
    const ALLOWED: &str =
        "a list of up to 64 groups of model servers, each {name, routes, models, url, …}";
    let lines = groups(r, KEY, ALLOWED, MOST_GROUPS).into_iter();
    let entries: Vec<Option<NamedUpstream>> = lines
        .enumerate()
        .map(|(index, line)| entry(r, &entry_key(index), line))
        .collect();
    let complete: Option<Vec<NamedUpstream>> = entries.into_iter().collect();
    complete.unwrap_or_default()
}

/// One entry, which begins at this line.
fn entry(r: &mut Reader<'_>, section: &str, line: usize) -> Option<NamedUpstream> {
    let key = |name: &str| format!("{section}.{name}");
    let name = r.read(&key("name"), &name());
    let calls = CallMatch {
        routes: list(r, &key("routes"), &ModelRoute::form()),
        models: list(r, &key("models"), &ModelPattern::form()),
    };
    let servers = upstream::read(r, section);
    let has_calls = !calls.routes.is_empty() || !calls.models.is_empty();
    let required = [
        (
            "name",
            name.is_some(),
            "logs and metrics name the group by it; set a plain word",
        ),
        (
            "routes",
            has_calls,
            "models is not set either, so the entry would take every call; set one or both",
        ),
        (
            "url",
            servers.url.is_some(),
            "it is the address of the model server; set it",
        ),
    ];
    let is_wrong = ["name", "routes", "models", "url"].map(|name| r.has_problem_in(&key(name)));
    for (name, _, why) in required.into_iter().filter(|(_, is_set, _)| !is_set) {
        let name = key(name);
        let is_reported = r.has_problem_in(&name) || name.ends_with("routes") && is_wrong[2];
        if !is_reported {
            r.report_line(line, &name, format!("is not set; {why}"));
        }
    }
    let is_complete = required.iter().all(|(_, is_set, _)| *is_set) && !is_wrong.contains(&true);
    Some(NamedUpstream {
        name: name.filter(|_| is_complete)?,
        calls,
        servers,
    })
}

fn name() -> Form<String> {
    let allowed = "up to 64 letters, digits, - and _ of ASCII, in quotes if digits only";
    Form::new(allowed, |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match text {
            "" => Err("is empty".to_owned()),
            _ if text.len() <= LONGEST_NAME && text.bytes().all(plain) => Ok(text.to_owned()),
            _ => Err(format!("{} is not a plain word", quote(text))),
        }
    })
    .text_only()
}

//! What must not show anywhere. The world learns it from what it sends and gets: keys, tokens and
//! cookies of requests and answers, passwords of forms, the words of messages, and what settings name
//! by the name of a secret. So a test that uses a new one need not say so.

use super::http::Response;
use super::request::Request;
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};

/// Shorter ones are words that occur anyway.
const SHORTEST: usize = 8;
/// Headers whose value is a secret.
const HEADERS: [&str; 6] = [
    "authorization",
    "x-monitor-api-key",
    "x-api-key",
    "chatgpt-account-id",
    "x-codex-turn-metadata",
    "cookie",
];
/// Members of JSON and fields of forms whose value is one.
const NAMES: &str = r"token|value|secret|password|again|content|message|input|api_key|first_token|authorization|email";

/// Every secret so far, with where it came from.
#[derive(Default)]
pub struct Secrets {
    known: Mutex<BTreeMap<String, String>>,
    /// Those that are not even kept: what is a model server's alone.
    passing: Mutex<Vec<String>>,
    /// Bodies of answers that refused something.
    refusals: Mutex<String>,
}

impl Secrets {
    /// A new one that nothing else looks like.
    pub fn make(&self, what: &str) -> String {
        let id = uuid::Uuid::new_v4().simple().to_string();
        let value = format!("s3cret-{}-{id}", what.replace(' ', "-"));
        self.learn(&value, what);
        value
    }

    /// A new one that passes to the model server, and that no record keeps.
    pub fn make_passing(&self, what: &str) -> String {
        let value = self.make(what);
        self.passing.lock().unwrap().push(value.clone());
        value
    }

    /// Notes one.
    pub fn learn(&self, value: &str, from: &str) {
        if value.len() >= SHORTEST {
            self.known().insert(value.to_owned(), from.to_owned());
        }
    }

    /// How many are known.
    pub fn count(&self) -> usize {
        self.known().len()
    }

    /// Notes what settings hold, by the names of their keys.
    pub fn of_settings(&self, yaml: &str) {
        let named = Regex::new(&format!(r#"(?:{NAMES}): *["']?([^"'\s,}}]+)"#)).unwrap();
        for found in named.captures_iter(yaml) {
            self.learn(&found[1], "the settings");
        }
    }

    /// Notes what a variable holds, by its name.
    pub fn of_variable(&self, name: &str, value: &str) {
        if ["PASSWORD", "SECRET", "KEY", "TOKEN"]
            .iter()
            .any(|word| name.contains(word))
        {
            self.learn(value, name);
        }
    }

    /// Sends a request, and notes what it and its answer hold.
    #[track_caller]
    pub fn call(&self, request: &Request, address: SocketAddr) -> Response {
        self.of_request(request);
        let answer = request.call(address);
        self.of_answer(request.path(), &answer);
        answer
    }

    /// Notes what a request holds.
    pub fn of_request(&self, request: &Request) {
        let bytes = request.bytes();
        let at = super::find(&bytes, b"\r\n\r\n").expect("a head");
        let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            if HEADERS.contains(&name.to_lowercase().as_str()) {
                for word in value.split(['=', ' ', ';']) {
                    self.learn(word, name);
                }
            }
        }
        self.of_body(&bytes[at + 4..], request.path());
    }

    /// Notes what an answer holds: its cookies and tokens. What it refuses with is an output.
    pub fn of_answer(&self, path: &str, answer: &Response) {
        for cookie in answer.head.values("set-cookie") {
            let value = cookie.split(['=', ';']).nth(1).unwrap_or_default();
            self.learn(value, "a cookie");
        }
        match answer.status() {
            400.. => {
                let text = format!("{}: {}\n", answer.status(), answer.text());
                self.refusals.lock().unwrap().push_str(&text);
            }
            _ => self.of_body(&answer.body, path),
        }
    }

    fn of_body(&self, body: &[u8], from: &str) {
        let json: Option<Value> = serde_json::from_slice(body).ok();
        match json {
            Some(json) => self.of_json(&json, from),
            None => {
                let named = Regex::new(&format!("^({NAMES})$")).unwrap();
                for (name, value) in url::form_urlencoded::parse(body) {
                    if named.is_match(&name) {
                        self.learn(&value, from);
                    }
                }
            }
        }
    }

    fn of_json(&self, json: &Value, from: &str) {
        let named = Regex::new(&format!("^({NAMES})$")).unwrap();
        match json {
            Value::Object(members) => {
                for (name, value) in members {
                    match value.as_str() {
                        Some(text) if named.is_match(name) => self.learn(text, from),
                        _ => self.of_json(value, from),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.of_json(item, from)),
            _ => {}
        }
    }

    /// Asserts that no secret stands in any output, nor in what refused answers said.
    #[track_caller]
    pub fn assert_absent(&self, outputs: &[(&str, String)]) {
        let refusals = self.refusals.lock().unwrap().clone();
        let refusals = ("bodies of refusals", refusals);
        for (name, text) in outputs.iter().chain([&refusals]) {
            for (secret, from) in self.known().iter() {
                let at = text.find(secret.as_str());
                let line = at.map(|at| line_at(text, at).replace(secret.as_str(), "<SECRET>"));
                assert!(line.is_none(), "a secret of {from} in {name}: {line:?}");
            }
        }
    }

    /// Asserts that nothing which is kept of calls, by its name, has what passes to the model server.
    #[track_caller]
    pub fn assert_not_kept(&self, kept: &[(String, Vec<u8>)]) {
        let passing = self.passing.lock().unwrap().clone();
        assert!(!passing.is_empty());
        for (name, bytes) in kept {
            let found = passing
                .iter()
                .find(|secret| super::contains(bytes, secret.as_bytes()));
            let of = found.and_then(|secret| self.known().get(secret).cloned());
            assert!(found.is_none(), "a secret of {of:?} in {name}");
        }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.known.lock().unwrap()
    }
}

fn line_at(text: &str, at: usize) -> String {
    let from = text[..at].rfind('\n').map_or(0, |from| from + 1);
    let line = text[from..].lines().next().unwrap_or_default();
    line.chars().take(400).collect()
}

//! The monitoring backend of the test world: it records the calls of §4.2 and answers §2.9, an
//! error, or nothing at all.

pub use super::received::{Attached, Call};
use super::received::{BATCH, attached, call, calls, calls_of, is_call, is_question};
use super::server::{Server, Wrap};
use super::upstream::{clear, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What it does with a call once it is recorded.
#[derive(Clone, Copy, Debug)]
pub enum Manner {
    /// Answers §2.9.
    Answers,
    /// Answers with that status and an envelope.
    Refuses(u16),
    /// Never answers.
    Hangs,
}

/// A scripted backend.
pub struct Backend {
    server: Server,
    well: Arc<AtomicBool>,
    scheme: &'static str,
}

impl Backend {
    /// A backend that works.
    pub fn start() -> Self {
        Self::that(Manner::Answers)
    }

    /// A backend of that manner.
    pub fn that(manner: Manner) -> Self {
        let well = Arc::new(AtomicBool::new(false));
        let recovered = well.clone();
        let script = move |peer: &mut super::server::Peer| {
            while let Some(request) = peer.read_request() {
                let manner = match recovered.load(Ordering::Relaxed) {
                    true => Manner::Answers,
                    false => manner,
                };
                match manner {
                    Manner::Answers => {
                        peer.note_accepted(request);
                        peer.send(answer(VERDICT));
                    }
                    Manner::Refuses(status) => peer.send(json(status, REFUSAL)),
                    Manner::Hangs => {
                        peer.closed_within(super::PATIENCE * 4);
                        return;
                    }
                }
            }
        };
        Self {
            server: Server::start(Box::new(clear), Box::new(script)),
            well,
            scheme: "http",
        }
    }

    /// From now on it answers whatever its manner was; what hangs already goes on hanging.
    pub fn recovers(&self) {
        self.well.store(true, Ordering::Relaxed);
    }

    /// A backend that answers each call as the test says; see [`verdict`].
    pub fn judging(judge: impl Fn(&Call) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::over("http", Box::new(clear), judge)
    }

    /// The same over a stream of the test's choice.
    pub fn over(
        scheme: &'static str,
        wrap: Wrap,
        judge: impl Fn(&Call) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let script = move |peer: &mut super::server::Peer| {
            while let Some(request) = peer.read_request() {
                if !is_call(&request) {
                    peer.send(json(200, "{}"));
                    continue;
                }
                if is_question(&request) {
                    peer.send(answer(""));
                    continue;
                }
                let judged = judge(&call(&request));
                peer.send(judged);
            }
        };
        Self {
            server: Server::start(wrap, Box::new(script)),
            well: Arc::default(),
            scheme,
        }
    }

    /// A backend that never answers on a prompt and flags every answer which contains `word`.
    pub fn late_on_prompts(word: &'static str) -> Self {
        let well = Arc::new(AtomicBool::new(false));
        let recovered = well.clone();
        let script = move |peer: &mut super::server::Peer| {
            while let Some(request) = peer.read_request() {
                if is_question(&request) {
                    peer.send(answer(""));
                    continue;
                }
                let call = call(&request);
                if call.is_pre() && !recovered.load(Ordering::Relaxed) {
                    peer.closed_within(super::PATIENCE * 4);
                    return;
                }
                peer.send(match call.message().contains(word) {
                    true => verdict(&["dataclean"]),
                    false => verdict(&[]),
                });
            }
        };
        Self {
            server: Server::start(Box::new(clear), Box::new(script)),
            well,
            scheme: "http",
        }
    }

    /// A backend that does not tell what it takes: it answers the question with this status, or not at all. It flags every
    /// message that contains `word`.
    pub fn not_telling(status: Option<u16>, word: &'static str) -> Self {
        Self::telling_after(usize::MAX, status, word)
    }

    /// The same until it has been asked so many times in vain.
    pub fn telling_after(most: usize, status: Option<u16>, word: &'static str) -> Self {
        let asked = AtomicUsize::new(0);
        let script = move |peer: &mut super::server::Peer| {
            while let Some(request) = peer.read_request() {
                if is_question(&request) {
                    if asked.fetch_add(1, Ordering::Relaxed) >= most {
                        peer.send(answer(""));
                        continue;
                    }
                    let Some(status) = status else {
                        peer.closed_within(super::PATIENCE * 4);
                        return;
                    };
                    peer.send(json(status, REFUSAL));
                    continue;
                }
                peer.send(match call(&request).message().contains(word) {
                    true => verdict(&["guardrails"]),
                    false if asked.load(Ordering::Relaxed) > most => answer(VERDICT),
                    false => json(200, VERDICT),
                });
            }
        };
        Self {
            server: Server::start(Box::new(clear), Box::new(script)),
            well: Arc::default(),
            scheme: "http",
        }
    }

    /// A backend that takes batches while `offers` says so and gives each record the status that the
    /// test says. As that of the last release, it does not offer to take calls of tools and their results.
    pub fn batching(
        offers: &Arc<AtomicBool>,
        status: impl Fn(&Call) -> u16 + Send + Sync + 'static,
    ) -> Self {
        let offers = offers.clone();
        let script = move |peer: &mut super::server::Peer| {
            while let Some(request) = peer.read_request() {
                let offered = match offers.load(Ordering::Relaxed) {
                    true => "X-Monitor-Batch: 1\r\n",
                    false => "",
                };
                if !is_call(&request) {
                    peer.send(json(200, "{}"));
                    continue;
                }
                let many = request.head.target() == BATCH;
                let calls = calls(&request);
                let (status, body) = match (many, &calls[..]) {
                    (true, _) if offered.is_empty() => (404, REFUSAL.to_owned()),
                    (true, calls) => (200, calls.iter().map(|call| line(status(call))).collect()),
                    (false, [call, ..]) => (status(call), VERDICT.to_owned()),
                    (false, []) => (400, REFUSAL.to_owned()),
                };
                peer.send(super::upstream::response(status, offered, body.as_bytes()));
            }
        };
        Self {
            server: Server::start(Box::new(clear), Box::new(script)),
            well: Arc::default(),
            scheme: "http",
        }
    }

    /// A backend that takes every record and answers the posts of files as the test says, which gets
    /// how many came before.
    pub fn answering_files(
        status: impl Fn(usize, &Attached) -> u16 + Send + Sync + 'static,
    ) -> Self {
        let before = AtomicUsize::new(0);
        let script = move |peer: &mut super::server::Peer| {
            while let Some(request) = peer.read_request() {
                let status = match is_call(&request) {
                    true => 200,
                    false => {
                        let before = before.fetch_add(1, Ordering::Relaxed);
                        status(before, &attached(&request))
                    }
                };
                peer.send(json(status, if status == 200 { VERDICT } else { REFUSAL }));
            }
        };
        Self {
            server: Server::start(Box::new(clear), Box::new(script)),
            well: Arc::default(),
            scheme: "http",
        }
    }

    /// The records of each batch so far.
    pub fn batches(&self) -> Vec<Vec<Call>> {
        let seen = self.server.ledger.now().requests;
        let batches = seen.iter().filter(|request| request.head.target() == BATCH);
        batches.map(calls).collect()
    }

    /// A backend that flags every message which contains `word`, as sensitive data.
    pub fn flagging(word: &'static str) -> Self {
        Self::judging(move |call| match call.message().contains(word) {
            true => verdict(&["dataclean"]),
            false => verdict(&[]),
        })
    }

    /// MONITOR_URL.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.server.address)
    }

    /// Every call so far, in order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        calls_of(&self.server.ledger.now().requests)
    }

    /// How often it was asked what it takes.
    pub fn questions(&self) -> usize {
        let seen = self.server.ledger.now().requests;
        seen.iter().filter(|request| is_question(request)).count()
    }

    /// Forgets every call so far.
    pub fn forget(&self) {
        self.server.ledger.forget();
    }

    /// Waits for that many calls.
    #[track_caller]
    pub fn await_calls(&self, count: usize) -> Vec<Call> {
        self.server.ledger.wait(&format!("{count} calls"), |seen| {
            let calls = calls_of(&seen.requests);
            (calls.len() >= count).then_some(calls)
        })
    }

    /// Waits for that many calls that a backend [of some manner](Self::that) answered with success.
    #[track_caller]
    pub fn await_accepted(&self, count: usize) -> Vec<Call> {
        let what = format!("{count} accepted calls");
        self.server.ledger.wait(&what, |seen| {
            let calls = calls_of(&seen.accepted);
            (calls.len() >= count).then_some(calls)
        })
    }

    /// Waits for the post-call registration of every exchange up to the `count`th and gives all
    /// calls by then.
    #[track_caller]
    pub fn await_posts(&self, count: usize) -> Vec<Call> {
        self.server
            .ledger
            .wait(&format!("{count} post-call records"), |seen| {
                let calls = calls_of(&seen.requests);
                (calls.iter().filter(|c| !c.is_pre()).count() >= count).then_some(calls)
            })
    }

    /// Every attached file so far, by name.
    pub fn files(&self) -> Vec<Attached> {
        let seen = self.server.ledger.now();
        let requests = seen.requests.iter().filter(|request| !is_call(request));
        let mut files: Vec<Attached> = requests.map(attached).collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    }

    /// Pre-call and post-call record of the only exchange.
    #[track_caller]
    pub fn await_exchange(&self) -> (Call, Call) {
        let calls = self.await_posts(1);
        let one = |pre: bool| calls.iter().find(|c| c.is_pre() == pre).cloned();
        (
            one(true).expect("a pre-call record"),
            one(false).expect("a post-call record"),
        )
    }
}

/// Says that calls of tools and their results are taken.
fn answer(body: &str) -> Vec<u8> {
    let headers = "Content-Type: application/json\r\nX-Monitor-Tools: 1\r\n";
    super::upstream::response(200, headers, body.as_bytes())
}

fn line(status: u16) -> String {
    let body = if status == 200 { VERDICT } else { REFUSAL };
    format!("{{\"status\":{status},\"body\":{body}}}\n")
}

/// An answer of §2.9 in which these parts are flagged. It quotes a `s3cret`, which no client may see.
pub fn verdict(flagged: &[&str]) -> Vec<u8> {
    let flag = |part: &str| flagged.contains(&part);
    let types = match flag("dataclean") {
        true => serde_json::json!([{"type": "EMAILS", "count": 2}]),
        false => serde_json::json!([]),
    };
    let verdict = serde_json::json!({
        "request_id": ANALYSIS, "schema_version": "2.0.0", "status": "success", "errors": [],
        "tokens": {"count": 1, "usage_severity": null},
        "guardrails": {
            "flagged": flag("guardrails"), "score": 0.5,
            "categories": [{"name": "violence", "score": 0.5, "flagged": flag("guardrails")}],
        },
        "custom_policy": {
            "flagged": flag("custom_policy"),
            "policies": [{"name": "no-rivals", "flagged": flag("custom_policy"), "reason": "s3cret"}],
        },
        "dataclean": {
            "flagged": flag("dataclean"), "cleaned_text": "s3cret [EMAILS]", "types": types,
        },
    });
    answer(&verdict.to_string())
}

/// The record's id in every verdict.
pub const ANALYSIS: &str = "7d0e3a0e-1a3c-4a53-9d0a-0f1b6c1c8f11";
const VERDICT: &str = r#"{"request_id":"7d0e3a0e-1a3c-4a53-9d0a-0f1b6c1c8f11","schema_version":"2.0.0","status":"success","errors":[],"tokens":{"count":1,"usage_severity":null},"guardrails":{"flagged":false},"custom_policy":{"flagged":false},"dataclean":{"flagged":false,"cleaned_text":"hello","types":[]}}"#;
const REFUSAL: &str =
    r#"{"error":{"message":"refused by the test","type":"server_error","code":500}}"#;

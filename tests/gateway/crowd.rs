//! A crowd of clients at one gateway: applications, keys, modes and connections mixed, and what each
//! of them must get. The expectation is computed from the client alone, so that any byte of another
//! client's, application's or call's shows.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use std::net::SocketAddr;
use support::backend::{Backend, verdict};
use support::http::Conn;
use support::request::{HELLO, Request};
use support::upstream::{DONE, Upstream, delta, json, sse};
use tokio::runtime::Runtime;

/// How many there are: four of each kind.
pub(crate) const CLIENTS: usize = 4 * KINDS.len();

const ASYNC: &str = "a5100000-0000-4000-8000-000000000001";
const SYNC: &str = "57100000-0000-4000-8000-000000000002";
const REPLACING: &str = "4e100000-0000-4000-8000-000000000003";
const LENIENT: &str = "1e100000-0000-4000-8000-000000000004";

/// The applications and their policies, as a store holds them.
pub(crate) const POLICIES: [(&str, &str); 4] = [
    (ASYNC, r#"{"app_mode":"async"}"#),
    (SYNC, r#"{"app_mode":"sync","phrase":"phrase of sync"}"#),
    (
        REPLACING,
        r#"{"app_mode":"sync","phrase":"phrase of replacing","replace_response":true}"#,
    ),
    (
        LENIENT,
        r#"{"app_mode":"sync","phrase":"never said","block_on":{"dataclean":false}}"#,
    ),
];

/// What a client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The upstream's stream.
    Stream,
    /// The upstream's answer that is no stream.
    Answer,
    /// This phrase, before the upstream is called.
    Blocked(&'static str),
    /// This phrase instead of the upstream's answer.
    Replaced(&'static str),
}

/// One kind of client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    application: Option<&'static str>,
    streams: bool,
    /// Said in the prompt: `forbidden` is flagged, `provoke` makes the model say `unwelcome`, which
    /// is flagged in an answer.
    word: &'static str,
    pub(crate) expect: Expect,
}

const fn kind(
    application: Option<&'static str>,
    streams: bool,
    word: &'static str,
    expect: Expect,
) -> Kind {
    Kind {
        application,
        streams,
        word,
        expect,
    }
}

/// The same words in different applications, so that a policy that strays is seen.
const KINDS: [Kind; 8] = [
    kind(Some(ASYNC), true, "forbidden", Expect::Stream),
    kind(Some(ASYNC), false, "provoke", Expect::Answer),
    kind(None, true, "provoke", Expect::Stream),
    kind(Some(SYNC), true, "hello", Expect::Answer),
    kind(
        Some(SYNC),
        true,
        "forbidden",
        Expect::Blocked("phrase of sync"),
    ),
    kind(Some(SYNC), false, "provoke", Expect::Answer),
    kind(
        Some(REPLACING),
        true,
        "provoke",
        Expect::Replaced("phrase of replacing"),
    ),
    kind(Some(LENIENT), false, "forbidden", Expect::Answer),
];

/// One client.
pub(crate) struct Client {
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    link: Link,
}

/// A call that was answered as it must be.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    pub(crate) turn: usize,
}

enum Link {
    Kept(Box<Conn>),
    Fresh(SocketAddr),
    Http2(Runtime, SendRequest<Full<Bytes>>),
}

struct Answer {
    status: u16,
    content_type: String,
    request_id: String,
    body: Vec<u8>,
}

impl Client {
    /// All of them, connected.
    pub(crate) fn all(gateway: SocketAddr) -> Vec<Self> {
        let one = |number: usize| Self {
            number,
            kind: KINDS[number % KINDS.len()],
            // Every kind meets every connection, since their counts share no factor.
            link: Link::open(number % 3, gateway),
        };
        (0..CLIENTS).map(one).collect()
    }

    /// One call, whose answer must be this client's to the byte.
    pub(crate) fn call(&mut self, turn: usize) -> Done {
        let done = Done {
            number: self.number,
            kind: self.kind,
            turn,
        };
        let answer = self.link.send(&done);
        done.check(&answer);
        done
    }
}

impl Done {
    /// Names the call in everything that is said because of it.
    pub(crate) fn marker(&self) -> String {
        format!("<c{}-t{}>", self.number, self.turn)
    }

    pub(crate) fn key(&self) -> String {
        format!("mon_key_of_client_{}", self.number)
    }

    pub(crate) fn prompt(&self) -> String {
        format!("{} {}, please", self.marker(), self.kind.word)
    }

    pub(crate) fn reply(&self) -> String {
        let body = self.body();
        spoken(&marker_in(&body), &body)
    }

    /// What the backend must be told, beside the message.
    pub(crate) fn ids(&self) -> (Value, String, String) {
        let application = self.kind.application.map_or(Value::Null, Value::from);
        let (number, turn) = (self.number, self.turn);
        (
            application,
            format!("user-{number}"),
            format!("session-{number}-{turn}"),
        )
    }

    /// The body that reaches the upstream (§1.3).
    pub(crate) fn forwarded(&self) -> String {
        match self.kind.expect {
            Expect::Stream => self.body(),
            _ => self.body().replace("\"stream\": true", "\"stream\": false"),
        }
    }

    fn body(&self) -> String {
        let (marker, prompt, number) = (self.marker(), self.prompt(), self.number);
        let stream = if self.kind.streams {
            "\"stream\": true, "
        } else {
            ""
        };
        format!(
            r#"{{"model":"model-{number}", {stream}"metadata":{{"request_id":"{marker}"}},"messages":[{{"role":"user","content":"{prompt}"}}]}}"#
        )
    }

    fn headers(&self) -> Vec<(&'static str, String)> {
        let (application, user, session) = self.ids();
        let mut headers = vec![
            ("X-Monitor-Api-Key", self.key()),
            ("X-User-Id", user),
            ("X-Session-Id", session),
            ("X-Request-Id", self.request_id()),
        ];
        if let Some(id) = application.as_str() {
            headers.push(("X-Application-Id", id.to_owned()));
        }
        headers
    }

    fn request_id(&self) -> String {
        format!("call-{}-{}", self.number, self.turn)
    }

    fn check(&self, answer: &Answer) {
        let text = String::from_utf8_lossy(&answer.body);
        let what = format!("client {} turn {}: {text}", self.number, self.turn);
        assert_eq!(
            (answer.status, &answer.request_id),
            (200, &self.request_id()),
            "{what}"
        );
        let streams = self.kind.expect == Expect::Stream;
        let media = if streams {
            "text/event-stream"
        } else {
            "application/json"
        };
        assert_eq!(answer.content_type, media, "{what}");
        match self.kind.expect {
            Expect::Stream => assert_eq!(text, frames(&self.reply()).concat(), "{what}"),
            Expect::Answer => assert_eq!(text, completion(&self.reply()), "{what}"),
            Expect::Blocked(phrase) => self.check_replaced(&answer.body, "pre_call", phrase),
            Expect::Replaced(phrase) => self.check_replaced(&answer.body, "post_call", phrase),
        }
    }

    fn check_replaced(&self, body: &[u8], stage: &str, phrase: &str) {
        let body: Value = serde_json::from_slice(body).unwrap();
        assert_eq!(body["choices"][0]["message"]["content"], phrase, "{body}");
        assert_eq!(body["model"], format!("model-{}", self.number), "{body}");
        let replacement = &body["metadata"]["monitor"]["response_replacement"];
        assert_eq!(replacement["stage"], stage, "{body}");
        assert_eq!(replacement["request_id"], self.marker(), "{body}");
    }
}

impl Link {
    fn open(manner: usize, gateway: SocketAddr) -> Self {
        match manner {
            0 => Self::Kept(Box::new(Conn::open(gateway))),
            1 => Self::Fresh(gateway),
            _ => {
                let builder = &mut tokio::runtime::Builder::new_current_thread();
                let runtime = builder.enable_all().build().unwrap();
                let sender = runtime.block_on(async {
                    let socket = tokio::net::TcpStream::connect(gateway).await.unwrap();
                    let shaken = handshake(TokioExecutor::new(), TokioIo::new(socket)).await;
                    let (sender, connection) = shaken.unwrap();
                    tokio::spawn(connection);
                    sender
                });
                Self::Http2(runtime, sender)
            }
        }
    }

    fn send(&mut self, done: &Done) -> Answer {
        let request = done.headers().iter().fold(
            Request::chat(done.body()).without_key(),
            |request, (name, value)| request.header(name, value),
        );
        let response = match self {
            Self::Http2(runtime, sender) => return runtime.block_on(over_http2(sender, done)),
            Self::Fresh(gateway) => request.call(*gateway),
            Self::Kept(conn) => {
                conn.send(&request.bytes());
                conn.response()
            }
        };
        assert!(
            response.complete,
            "client {} got a whole answer",
            done.number
        );
        let header = |name: &str| response.head.header(name).unwrap_or_default().to_owned();
        Answer {
            status: response.status(),
            content_type: header("content-type"),
            request_id: header("x-request-id"),
            body: response.body,
        }
    }
}

async fn over_http2(sender: &mut SendRequest<Full<Bytes>>, done: &Done) -> Answer {
    let mut request = hyper::Request::post("http://gateway.test/v1/chat/completions")
        .header("content-type", "application/json");
    for (name, value) in done.headers() {
        request = request.header(name, value);
    }
    let body = Full::new(Bytes::from(done.body()));
    let (head, body) = sender
        .send_request(request.body(body).unwrap())
        .await
        .unwrap()
        .into_parts();
    let header = |name: &str| {
        let value = head.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default().to_owned()
    };
    Answer {
        status: head.status.as_u16(),
        content_type: header("content-type"),
        request_id: header("x-request-id"),
        body: body.collect().await.unwrap().to_bytes().to_vec(),
    }
}

/// A model that says back which call it was asked by.
pub(crate) fn model() -> Upstream {
    Upstream::answering(|request| {
        let body = String::from_utf8_lossy(&request.body);
        let said = spoken(&marker_in(&body), &body);
        match body.contains("\"stream\": true") {
            true => {
                let frames = frames(&said);
                sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
            }
            false => json(200, &completion(&said)),
        }
    })
}

/// A backend that flags `forbidden` in prompts and `unwelcome` in answers.
pub(crate) fn judge() -> Backend {
    Backend::judging(|call| {
        let word = if call.is_pre() {
            "forbidden"
        } else {
            "unwelcome"
        };
        match call.message().contains(word) {
            true => verdict(&["dataclean"]),
            false => verdict(&[]),
        }
    })
}

/// The call that a text comes from.
pub(crate) fn marker_in(text: &str) -> String {
    let start = text.find('<').expect("a marker");
    let end = text[start..].find('>').expect("its end");
    text[start..=start + end].to_owned()
}

fn spoken(marker: &str, body: &str) -> String {
    let word = if body.contains("provoke") {
        "unwelcome"
    } else {
        "fine"
    };
    format!("to {marker}: {word}, and that is all")
}

fn completion(said: &str) -> String {
    support::upstream::ANSWER.replace("general greeting", said)
}

fn frames(said: &str) -> Vec<String> {
    let (first, second) = said.split_at(said.len() / 2);
    vec![delta(0, first), delta(0, second), DONE.to_owned()]
}

/// Nothing that the crowd says: for calls beside it.
pub(crate) fn other_prompt(word: &str) -> String {
    HELLO.replace("hello", &format!("<c-t> {word}"))
}

//! Compressed request bodies on every route that reads them, as programs with a login send them: decoded for the record
//! and the checks within bounds, forwarded as they came, and refused in the form of the API. CONTRACT 46; more of the
//! codings themselves is in networks/compressed.rs.

use super::Api;
use super::blocked::assert_phrase;
use crate::sync::{SYNC, sync};
use serde_json::{Value, json};
use support::assert_envelope;
use support::backend::Backend;
use support::compressed::gzip;
use support::http::Response;
use support::request::{EMBEDDINGS, Request};
use support::stack::Stack;
use support::upstream::Upstream;

contract! {
    a_compressed_prompt_is_read_like_any_other;
    a_compressed_prompt_that_takes_more_memory_than_there_is_is_worth_another_try;
    an_answer_that_comes_later_is_refused_also_where_the_request_is_compressed only [responses]
        because "no other API has background: true";
}

const ASYNC: &str = "57100000-0000-4000-8000-0000000000a5";
const VECTORS: &str =
    r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5]}],"model":"m"}"#;

/// A coding of `Content-Encoding`.
#[derive(Clone, Copy, Debug)]
enum Coding {
    Gzip,
    Zstd,
}

impl Coding {
    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    fn pack(self, body: &str) -> Vec<u8> {
        match self {
            Self::Gzip => gzip(body.as_bytes()),
            Self::Zstd => zstd::encode_all(body.as_bytes(), 3).unwrap(),
        }
    }
}

/// A route that reads its requests: one of the table's, or embeddings.
#[derive(Clone, Copy, Debug)]
struct Route(Option<Api>);

impl Route {
    fn body(self, text: &str) -> String {
        match self.0 {
            Some(api) => api.body(text, false),
            None => json!({"model": "m", "input": text}).to_string(),
        }
    }

    fn answer(self) -> String {
        let answer = self.0.map(|api| api.answer("Hi", "ls"));
        answer.unwrap_or_else(|| VECTORS.to_owned())
    }

    fn call(self, body: &[u8], coding: &str) -> Request {
        let path = self.0.map_or(EMBEDDINGS, Api::path);
        Request::post(path, body).header("Content-Encoding", coding)
    }

    #[track_caller]
    fn assert_error(self, answer: &Response, status: u16, of_messages: &'static str) -> Value {
        let Some(api) = self.0 else {
            assert_eq!(answer.status(), status, "{}", answer.text());
            assert_envelope(&answer.body, "invalid_request_error", status);
            return answer.json()["error"].clone();
        };
        let error = api.error(answer, status);
        assert_eq!(
            error["type"],
            api.kind("invalid_request_error", of_messages)
        );
        assert_eq!(answer.head.header("x-should-retry"), api.advice());
        error
    }

    /// Embeddings have no phrase.
    #[track_caller]
    fn assert_blocked(self, answer: &Response) {
        if let Some(api) = self.0 {
            assert_phrase(api, answer);
            return;
        }
        let error = self.assert_error(answer, 400, "");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("because of a finding of "), "{message}");
    }
}

fn a_compressed_prompt_is_read_like_any_other(api: Api) {
    assert_read(Route(Some(api)));
}

#[test]
fn a_compressed_text_of_embeddings_is_read_like_any_other() {
    assert_read(Route(None));
}

#[track_caller]
fn assert_read(route: Route) {
    let upstream = Upstream::json(200, &route.answer());
    let backend = Backend::flagging("forbidden");
    let recorded = format!("- {{id: {ASYNC}, app_mode: async, embeddings: record}}");
    let stack = sync(&upstream, ", embeddings: check")
        .yaml(&recorded)
        .yaml("limits: {decoded_bytes: 1MiB}")
        .monitor(&backend)
        .start();
    for coding in [Coding::Gzip, Coding::Zstd] {
        for application in [ASYNC, SYNC] {
            let call = |body: &[u8], coding: &str| {
                let call = route.call(body, coding);
                stack.call(&call.header("X-Application-Id", application))
            };
            backend.forget();
            let body = coding.pack(&route.body("hello"));
            let got = call(&body, coding.name());
            assert_eq!((got.status(), got.text()), (200, route.answer()));
            let sent = upstream.last();
            assert_eq!(sent.body, body, "{coding:?} {application}");
            assert_eq!(sent.head.values("content-encoding"), [coding.name()]);
            assert_eq!(backend.await_exchange().0.message(), "hello");
            upstream.forget();
            if application == SYNC {
                let body = coding.pack(&route.body("a forbidden word"));
                route.assert_blocked(&call(&body, coding.name()));
            }
            let damaged = call(&body[..body.len() - 3], coding.name());
            let error = route.assert_error(&damaged, 400, "invalid_request_error");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(coding.name()), "{message}");
            let bomb = route.body("hello") + &" ".repeat(4 << 20);
            let bomb = call(&coding.pack(&bomb), coding.name());
            route.assert_error(&bomb, 413, "request_too_large");
            let unknown = call(&body, "compress");
            route.assert_error(&unknown, 415, "invalid_request_error");
            assert_eq!(upstream.heads(), 0, "{coding:?} {application}");
        }
    }
}

/// §7.2 row 503.
fn a_compressed_prompt_that_takes_more_memory_than_there_is_is_worth_another_try(api: Api) {
    let upstream = Upstream::ok();
    let yaml = "limits: {buffered_bytes: 1MiB}";
    let stack = Stack::gateway().upstream(&upstream).yaml(yaml).start();
    // What a decoder may keep of it is more than 1 MiB: it goes by the size of the body.
    let numbers = (1..2_000).map(|number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let words: Vec<String> = numbers.map(|number| number.to_string()).collect();
    let body = Coding::Zstd.pack(&api.body(&words.join(" "), false));
    assert!((10 << 10..64 << 10).contains(&body.len()), "{}", body.len());
    let answer = stack.call(&Route(Some(api)).call(&body, "zstd"));
    let kind = api.kind("gateway_error", "overloaded_error");
    assert_eq!(api.error(&answer, 503)["type"], kind);
    assert!(answer.head.header("retry-after").is_some());
    assert_eq!(answer.head.header("x-should-retry"), None);
    upstream.assert_untouched();
}

/// CONTRACT 15: nobody would check what another call delivers.
fn an_answer_that_comes_later_is_refused_also_where_the_request_is_compressed(api: Api) {
    let later = api.body("hello", true);
    let later = later.replacen('{', r#"{"background":true,"#, 1);
    for fields in [", replace_response: true", ", stream_in_sync: hold_back"] {
        let upstream = Upstream::json(200, &api.answer("", ""));
        let stack = sync(&upstream, fields).monitor(&Backend::start()).start();
        for coding in [Coding::Gzip, Coding::Zstd] {
            let call = Route(Some(api)).call(&coding.pack(&later), coding.name());
            let answer = stack.call(&call.header("X-Application-Id", SYNC));
            let message = api.error(&answer, 400)["message"].clone();
            let message = message.as_str().unwrap();
            assert!(
                message.contains("background: true"),
                "{coding:?}: {message}"
            );
        }
        upstream.assert_untouched();
    }
}

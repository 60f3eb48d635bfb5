//! The tokens of a call as the model server reports them, and the model that answered, with the record of the answer:
//! of every protocol, of whole answers and of streams. Numbers only, and bounded.

use crate::sync::SYNC;
use serde_json::{Value, json};
use support::backend::Backend;
use support::fault::refusing_address;
use support::request::{EMBEDDINGS, Request};
use support::stack::Stack;
use support::upstream::{DONE, SSE_HEAD, Upstream, response, sse};

/// What every protocol's answer below comes to.
fn expected() -> Value {
    json!({
        "prompt_tokens": 100, "cached_tokens": 40, "cache_write_tokens": 10, "completion_tokens": 30,
        "reasoning_tokens": 12, "total_tokens": 130,
    })
}

fn chat_usage() -> Value {
    json!({
        "prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130,
        "prompt_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 12},
    })
}

fn response_of(model: &str) -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": model, "output": [
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "hi", "annotations": []}]},
        ],
        "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
            "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 12}, "total_tokens": 130,
        },
    })
}

/// Tokens of the cache are none of its `input_tokens`.
fn message_usage() -> Value {
    json!({
        "input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10,
        "output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 12},
    })
}

/// A path, a request, and an answer of the model `answered`.
struct Case {
    path: &'static str,
    body: Value,
    answer: Vec<u8>,
}

fn whole(body: &Value) -> Vec<u8> {
    let kind = "Content-Type: application/json\r\n";
    response(200, kind, body.to_string().as_bytes())
}

/// A frame of the answer.
fn said() -> String {
    let chunk = json!({"id": "c-1", "model": "answered", "choices": [{"index": 0, "delta": {"content": "hi"}}]});
    format!("data: {chunk}\n\n")
}

fn frames(events: &[Value]) -> Vec<String> {
    let frame = |event: &Value| {
        let name = event["type"].as_str().unwrap();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(frame).collect()
}

fn stream(events: &[Value]) -> Vec<u8> {
    let frames = frames(events);
    sse(&frames.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The first events of a message that says "hi", with this usage in `message_start`.
fn begun(usage: &Value) -> [Value; 3] {
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "answered", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}}),
    ]
}

/// The answer's tokens are those so far; the last event has the whole number.
fn begun_usage() -> Value {
    json!({
        "input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10, "output_tokens": 1,
    })
}

fn cases() -> [Case; 8] {
    let chat = json!({"model": "asked", "messages": [{"role": "user", "content": "hello"}]});
    let text = json!({"model": "asked", "prompt": "hello"});
    let responses = json!({"model": "asked", "input": "hello"});
    let messages = json!({"model": "asked", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]});
    let streaming = |body: &Value| {
        let mut body = body.clone();
        body["stream"] = true.into();
        body
    };
    let completion = json!({
        "id": "c-1", "model": "answered", "usage": chat_usage(),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    });
    let last = json!({"id": "c-1", "model": "answered", "choices": [], "usage": chat_usage()});
    let frames = [said(), format!("data: {last}\n\n"), DONE.to_owned()];
    let texts = json!({
        "id": "c-1", "model": "answered", "usage": chat_usage(),
        "choices": [{"index": 0, "text": "hi", "finish_reason": "stop"}],
    });
    let piece = json!({"id": "c-1", "model": "answered", "choices": [{"index": 0, "text": "hi"}]});
    let pieces = [
        format!("data: {piece}\n\n"),
        frames[1].clone(),
        DONE.to_owned(),
    ];
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "answered",
        "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": message_usage(),
    });
    let [start, block, delta] = begun(&begun_usage());
    let events = [
        start,
        block,
        delta,
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"output_tokens": 30, "output_tokens_details": {"reasoning_tokens": 12}}}),
        json!({"type": "message_stop"}),
    ];
    let completed = json!({"type": "response.completed", "response": response_of("answered")});
    let case = |path, body, answer| Case { path, body, answer };
    let chat_path = "/v1/chat/completions";
    let refs: Vec<&str> = frames.iter().map(String::as_str).collect();
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    [
        case(chat_path, chat.clone(), whole(&completion)),
        case(chat_path, streaming(&chat), sse(&refs)),
        case("/v1/completions", text.clone(), whole(&texts)),
        case("/v1/completions", streaming(&text), sse(&pieces)),
        case(
            "/v1/responses",
            responses.clone(),
            whole(&response_of("answered")),
        ),
        case("/v1/responses", streaming(&responses), stream(&[completed])),
        case("/v1/messages", messages.clone(), whole(&message)),
        case("/v1/messages", streaming(&messages), stream(&events)),
    ]
}

#[test]
fn usage_and_model_of_every_protocol_go_with_the_answers_record() {
    for Case { path, body, answer } in cases() {
        let (upstream, backend) = (Upstream::raw(answer), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let got = stack.call(&Request::post(path, body.to_string()));
        assert_eq!(got.status(), 200, "{path}");
        let (pre, post) = backend.await_exchange();
        assert_eq!(post.message(), "hi", "{path}");
        assert_eq!(*post.parameter("usage"), expected(), "{path} {body}");
        assert_eq!(post.parameter("model"), "answered", "{path} {body}");
        for name in ["usage", "model"] {
            assert!(pre.parameter(name).is_null(), "{path}: {name} of a prompt");
        }
    }
}

#[test]
fn those_of_embeddings_and_of_stored_answers_go_with_their_records_too() {
    let vectors = json!({
        "object": "list", "model": "answered", "usage": {"prompt_tokens": 8, "total_tokens": 8},
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
    });
    let asked = json!({"model": "asked", "input": "hello"}).to_string();
    for (call, answer, tokens) in [
        (
            Request::post(EMBEDDINGS, asked),
            whole(&vectors),
            // The vectors are not read.
            Value::Null,
        ),
        (
            Request::get("/v1/responses/resp_1"),
            whole(&response_of("answered")),
            expected(),
        ),
    ] {
        let (upstream, backend) = (Upstream::raw(answer), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .yaml(&format!(
                "applications:\n- {{id: {SYNC}, app_mode: async, embeddings: record}}"
            ))
            .start();
        let got = stack.call(&call.header("X-Application-Id", SYNC));
        assert_eq!(got.status(), 200, "{}", got.text());
        let (_, post) = backend.await_exchange();
        assert_eq!(*post.parameter("usage"), tokens);
        let model = if tokens.is_null() {
            "asked"
        } else {
            "answered"
        };
        assert_eq!(post.parameter("model"), model);
    }
}

#[test]
fn a_message_that_breaks_off_has_the_tokens_of_its_prompt_alone() {
    // CONTRACT 17, 19, 21: nobody knows how many tokens its answer has.
    let body = json!({"model": "asked", "max_tokens": 9, "stream": true,
        "messages": [{"role": "user", "content": "hello"}]});
    let begun = frames(&begun(&begun_usage())).concat();
    for closed_by in ["client", "upstream"] {
        let (upstream, feed) = Upstream::fed();
        let backend = Backend::start();
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let call = Request::post("/v1/messages", body.to_string());
        let mut conn = call.send(stack.gateway_addr);
        feed.send(SSE_HEAD);
        assert_eq!(conn.final_head().status(), 200);
        feed.chunk(&begun);
        assert_eq!(conn.read_until(begun.as_bytes()), begun.as_bytes());
        match closed_by {
            "client" => drop(conn),
            _ => feed.reset(),
        }
        let (_, post) = backend.await_exchange();
        assert_eq!(post.parameter("error")["closed_by"], closed_by);
        let prompt = json!({"prompt_tokens": 100, "cached_tokens": 40, "cache_write_tokens": 10});
        assert_eq!(*post.parameter("usage"), prompt, "{closed_by}");
    }
}

#[test]
fn the_tokens_of_a_prompt_are_those_of_one_event() {
    // A server that counts the prompt once more leaves out its cache, or the first event has no numbers yet.
    let body = json!({"model": "asked", "max_tokens": 9, "stream": true,
        "messages": [{"role": "user", "content": "hello"}]});
    let none =
        json!({"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
    for (first, last, tokens) in [
        (
            begun_usage(),
            json!({"input_tokens": 50, "output_tokens": 30}),
            json!({"prompt_tokens": 100, "cached_tokens": 40, "cache_write_tokens": 10, "completion_tokens": 30,
                "total_tokens": 130}),
        ),
        (
            begun_usage(),
            json!({"input_tokens": 60, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0,
                "output_tokens": 30}),
            json!({"prompt_tokens": 100, "cached_tokens": 40, "cache_write_tokens": 0, "completion_tokens": 30,
                "total_tokens": 130}),
        ),
        (
            none,
            json!({"input_tokens": 50, "output_tokens": 30}),
            json!({"prompt_tokens": 50, "completion_tokens": 30, "total_tokens": 80}),
        ),
        (json!({"output_tokens": 1}), message_usage(), expected()),
        // A later 0 corrects no number.
        (
            json!({"input_tokens": 100, "output_tokens": 1}),
            json!({"input_tokens": 0, "output_tokens": 30}),
            json!({"prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130}),
        ),
        (
            begun_usage(),
            json!({"input_tokens": 0, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10,
                "output_tokens": 30}),
            json!({"prompt_tokens": 100, "cached_tokens": 40, "cache_write_tokens": 10, "completion_tokens": 30,
                "total_tokens": 130}),
        ),
        (
            json!({"input_tokens": 50, "output_tokens": 1}),
            json!({"input_tokens": 0, "cache_read_input_tokens": 50, "output_tokens": 30}),
            json!({"prompt_tokens": 50, "cached_tokens": 50, "completion_tokens": 30, "total_tokens": 80}),
        ),
    ] {
        let mut events = begun(&first).to_vec();
        events.push(
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}),
        );
        events.push(json!({"type": "message_stop"}));
        let (upstream, backend) = (Upstream::raw(stream(&events)), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let call = Request::post("/v1/messages", body.to_string());
        assert_eq!(stack.call(&call).status(), 200);
        let (_, post) = backend.await_exchange();
        assert_eq!(*post.parameter("usage"), tokens, "{first} {last}");
    }
}

#[test]
fn without_usage_there_is_none_and_the_model_is_the_one_that_was_asked() {
    let odd = json!({
        "choices": [{"index": 0, "message": {"content": "hi"}}], "model": 7,
        "usage": {"prompt_tokens": 2_000_000_000_u64, "completion_tokens": 2_000_000_000_u64, "note": "a secret word"},
    });
    let none = json!({"choices": [{"index": 0, "message": {"content": "hi"}}]});
    let words = json!({"choices": [{"index": 0, "message": {"content": "hi"}}], "usage": {"prompt_tokens": "a secret word"}});
    let nameless = json!({"choices": [{"index": 0, "delta": {"content": "hi"}}]});
    let frames = [format!("data: {nameless}\n\n"), DONE.to_owned()];
    let refs: Vec<&str> = frames.iter().map(String::as_str).collect();
    for answer in [whole(&odd), whole(&none), whole(&words), sse(&refs)] {
        let (upstream, backend) = (Upstream::raw(answer), Backend::start());
        let stack = Stack::gateway()
            .upstream(&upstream)
            .monitor(&backend)
            .start();
        let long = "я".repeat(100);
        let body = json!({"model": long, "messages": [{"role": "user", "content": "hello"}]});
        assert_eq!(stack.call(&Request::chat(body.to_string())).status(), 200);
        let (_, post) = backend.await_exchange();
        assert!(post.parameter("usage").is_null(), "{}", post.json);
        assert_eq!(post.parameter("model"), &json!("я".repeat(64)));
        assert!(!post.json.to_string().contains("secret"), "{}", post.json);
    }
}

#[test]
fn a_call_that_failed_names_the_model_that_was_asked() {
    let backend = Backend::start();
    let stack = Stack::gateway()
        .env("UPSTREAM_URL", format!("http://{}", refusing_address()))
        .monitor(&backend)
        .start();
    let body = json!({"model": "asked", "messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(stack.call(&Request::chat(body.to_string())).status(), 502);
    let (_, post) = backend.await_exchange();
    assert_eq!(post.parameter("model"), "asked");
    assert!(post.parameter("usage").is_null());
}

//! The model server that the packages talk to. Its answers stand in `answers/`, to the byte: `NAME.json` is a whole one,
//! `NAME.sse` a stream.

use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use support::server::{Peer, Received};
use support::upstream::{SSE_HEAD, Upstream, json as json_answer, response};

/// Answers by the last `cell:NAME` of a request. `slow` is silent for `pause` in the middle of its stream.
pub(super) fn model(pause: Duration) -> Upstream {
    Upstream::scripted(move |peer| {
        while let Some(request) = peer.read_request() {
            if !answer(peer, &request, pause) {
                return;
            }
        }
    })
}

/// The name of the answer that a request asks for.
pub(super) fn asked(request: &Received) -> String {
    let body = String::from_utf8_lossy(&request.body);
    let (_, name) = body.rsplit_once("cell:").unwrap_or_default();
    let letters = name.chars();
    letters
        .take_while(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .collect()
}

/// Answers one request; false where that ends the connection.
fn answer(peer: &mut Peer, request: &Received, pause: Duration) -> bool {
    let name = asked(request);
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let is_messages = request.head.target().starts_with("/v1/messages");
    if name == "gone" {
        return false;
    }
    if let Some(status) = name.strip_prefix("status-") {
        peer.send(error(status.parse().unwrap(), is_messages));
        return true;
    }
    if body["stream"] != true {
        peer.send(json_answer(200, &file(&name, "json", is_messages)));
        return true;
    }
    let is_whole = !["slow", "broken"].contains(&name.as_str());
    let text = file(if is_whole { &name } else { "told" }, "sse", is_messages);
    let frames: Vec<&str> = text.split_inclusive("\n\n").collect();
    let (begun, rest) = frames.split_at(frames.len() / 2);
    peer.send(SSE_HEAD);
    begun.iter().for_each(|frame| peer.send_chunk(frame));
    match name.as_str() {
        "broken" => return false,
        "slow" => std::thread::sleep(pause),
        _ => {}
    }
    rest.iter().for_each(|frame| peer.send_chunk(frame));
    peer.send("0\r\n\r\n");
    true
}

fn file(name: &str, form: &str, is_messages: bool) -> String {
    let api = if is_messages { "messages" } else { "responses" };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/agent_sdks/answers");
    let path = root.join(api).join(format!("{name}.{form}"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn error(status: u16, is_messages: bool) -> Vec<u8> {
    let kind = match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let message = format!("The model says {status}.");
    let body = match is_messages {
        true => {
            json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
        }
        false => json!({"error": {"message": message, "type": kind, "param": null, "code": kind}}),
    };
    let headers = "Content-Type: application/json\r\nRetry-After: 7\r\n";
    response(status, headers, body.to_string().as_bytes())
}

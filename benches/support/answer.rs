//! What the mock upstream answers, prepared once as the bytes on the wire. The request chooses by
//! the header `x-bench`; nothing is computed while a measurement runs.

use crate::agent_answers;
use crate::body::fill;
use serde::{Deserialize, Serialize};

/// Frames of one streamed answer, `[DONE]` included.
const SSE_FRAMES: usize = 200;

/// An answer the mock can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// A `chat.completion` of 1 KiB.
    Json1k,
    /// A `chat.completion` of 32 KiB.
    Json32k,
    /// A `chat.completion` of 1 MiB.
    Json1m,
    /// A stream of 200 frames of about 150 bytes, each flushed on its own.
    Sse200,
    /// A stream that sends one frame and then stays silent until the caller leaves.
    Held,
    /// What a monitoring backend says of a message in which it finds nothing (§2.9).
    Verdict,
    /// A response of 1 KiB.
    Responses1k,
    /// A message of 1 KiB.
    Messages1k,
    /// A response as a stream of 200 events, each flushed on its own.
    ResponsesSse200,
    /// A message as a stream of 200 events, each flushed on its own.
    MessagesSse200,
    /// A message of 1 KiB whose head says when the call came (`first_byte`).
    Timed,
}

impl Answer {
    /// Every answer; `prepared()` follows this order.
    pub const ALL: [Self; 11] = [
        Self::Json1k,
        Self::Json32k,
        Self::Json1m,
        Self::Sse200,
        Self::Held,
        Self::Verdict,
        Self::Responses1k,
        Self::Messages1k,
        Self::ResponsesSse200,
        Self::MessagesSse200,
        Self::Timed,
    ];

    /// The value of `x-bench`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json1k => "json1k",
            Self::Json32k => "json32k",
            Self::Json1m => "json1m",
            Self::Sse200 => "sse200",
            Self::Held => "held",
            Self::Verdict => "verdict",
            Self::Responses1k => "responses1k",
            Self::Messages1k => "messages1k",
            Self::ResponsesSse200 => "responsessse200",
            Self::MessagesSse200 => "messagessse200",
            Self::Timed => "timed",
        }
    }

    /// Reads `x-bench`.
    pub fn named(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|answer| answer.name().as_bytes() == name)
    }

    /// Whether the request asks for a stream.
    pub fn is_stream(self) -> bool {
        matches!(
            self,
            Self::Sse200 | Self::Held | Self::ResponsesSse200 | Self::MessagesSse200
        )
    }

    /// Bytes of the decoded body, by which the load tells a whole answer from a cut one.
    pub fn body_bytes(self) -> usize {
        match self {
            Self::Json1k | Self::Responses1k | Self::Messages1k | Self::Timed => 1 << 10,
            Self::Json32k => 32 << 10,
            Self::Json1m => 1 << 20,
            Self::Sse200 | Self::ResponsesSse200 | Self::MessagesSse200 => {
                self.frames().iter().map(String::len).sum()
            }
            Self::Held => frame(0).len(),
            Self::Verdict => VERDICT.len(),
        }
    }

    /// The writes that make up the answer, head first.
    pub fn writes(self) -> Vec<Vec<u8>> {
        match self {
            Self::Json1k | Self::Json32k | Self::Json1m => vec![json(self.body_bytes())],
            Self::Sse200 | Self::ResponsesSse200 | Self::MessagesSse200 => {
                let mut writes = vec![SSE_HEAD.as_bytes().to_vec()];
                writes.extend(self.frames().iter().map(|frame| chunk(frame)));
                writes.push(b"0\r\n\r\n".to_vec());
                writes
            }
            Self::Held => vec![SSE_HEAD.as_bytes().to_vec(), chunk(&frame(0))],
            Self::Verdict => vec![whole(VERDICT)],
            Self::Responses1k => vec![whole(&agent_answers::response(self.body_bytes()))],
            Self::Messages1k | Self::Timed => {
                vec![whole(&agent_answers::message(self.body_bytes()))]
            }
        }
    }

    /// The frames of a stream.
    fn frames(self) -> Vec<String> {
        match self {
            Self::ResponsesSse200 => agent_answers::response_frames(),
            Self::MessagesSse200 => agent_answers::message_frames(),
            _ => sse_frames(),
        }
    }
}

/// What a monitoring backend that takes batches says of so many records (CONTRACT 39).
pub fn batch(lines: usize) -> Vec<u8> {
    let line = format!("{{\"status\":200,\"body\":{VERDICT}}}\n");
    let body = line.repeat(lines);
    let head = json_head(body.len());
    let (head, rest) = head.split_at(head.len() - 2);
    format!("{head}X-Monitor-Batch: 1\r\nX-Monitor-Tools: 1\r\n{rest}{body}").into_bytes()
}

/// As the verdict on one record, with the offer to take several.
pub fn offer() -> Vec<u8> {
    let head = json_head(VERDICT.len());
    let (head, rest) = head.split_at(head.len() - 2);
    format!("{head}X-Monitor-Batch: 1\r\nX-Monitor-Tools: 1\r\n{rest}{VERDICT}").into_bytes()
}

const SSE_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

const VERDICT: &str = r#"{"request_id":"7d0e3a0e-1a3c-4a53-9d0a-0f1b6c1c8f11","schema_version":"2.0.0","status":"success","errors":[],"tokens":{"count":200,"usage_severity":null},"guardrails":{"flagged":false},"custom_policy":{"flagged":false},"dataclean":{"flagged":false,"cleaned_text":"","types":[]}}"#;

/// That answer with the moment at which the call came, in nanoseconds, in its head.
pub fn timed(answer: &[u8], called_at: u64) -> Vec<u8> {
    const END: &[u8] = b"\r\n\r\n";
    let end = memchr::memmem::find(answer, END).unwrap_or(answer.len());
    let (head, rest) = answer.split_at(end);
    let header = format!("\r\nX-Bench-Called: {called_at}");
    [head, header.as_bytes(), rest].concat()
}

fn whole(body: &str) -> Vec<u8> {
    format!("{}{body}", json_head(body.len())).into_bytes()
}

fn json_head(bytes: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {bytes}\r\n\r\n")
}

fn json(bytes: usize) -> Vec<u8> {
    const START: &str = r#"{"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":""#;
    const END: &str = r#""},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}"#;
    let mut answer = json_head(bytes) + START;
    fill(&mut answer, bytes - START.len() - END.len());
    answer.push_str(END);
    answer.into_bytes()
}

fn sse_frames() -> Vec<String> {
    let mut frames: Vec<String> = (1..SSE_FRAMES).map(frame).collect();
    frames.push("data: [DONE]\n\n".to_owned());
    frames
}

fn frame(number: usize) -> String {
    let event = format!(
        r#"{{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench","choices":[{{"index":0,"delta":{{"content":"word {number} "}}}}]}}"#
    );
    format!("data: {event}\n\n")
}

fn chunk(payload: &str) -> Vec<u8> {
    format!("{:x}\r\n{payload}\r\n", payload.len()).into_bytes()
}

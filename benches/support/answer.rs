//! What the mock upstream answers, prepared once as the bytes on the wire. The request chooses by
//! the header `x-bench`; nothing is computed while a measurement runs.

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
}

impl Answer {
    /// Every answer; `prepared()` follows this order.
    pub const ALL: [Self; 6] = [
        Self::Json1k,
        Self::Json32k,
        Self::Json1m,
        Self::Sse200,
        Self::Held,
        Self::Verdict,
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
        matches!(self, Self::Sse200 | Self::Held)
    }

    /// Bytes of the decoded body, by which the load tells a whole answer from a cut one.
    pub fn body_bytes(self) -> usize {
        match self {
            Self::Json1k => 1 << 10,
            Self::Json32k => 32 << 10,
            Self::Json1m => 1 << 20,
            Self::Sse200 => sse_frames().iter().map(String::len).sum(),
            Self::Held => frame(0).len(),
            Self::Verdict => VERDICT.len(),
        }
    }

    /// The writes that make up the answer, head first.
    pub fn writes(self) -> Vec<Vec<u8>> {
        match self {
            Self::Json1k | Self::Json32k | Self::Json1m => vec![json(self.body_bytes())],
            Self::Sse200 => {
                let mut writes = vec![SSE_HEAD.as_bytes().to_vec()];
                writes.extend(sse_frames().iter().map(|frame| chunk(frame)));
                writes.push(b"0\r\n\r\n".to_vec());
                writes
            }
            Self::Held => vec![SSE_HEAD.as_bytes().to_vec(), chunk(&frame(0))],
            Self::Verdict => vec![format!("{}{VERDICT}", json_head(VERDICT.len())).into_bytes()],
        }
    }
}

/// What a monitoring backend that takes batches says of so many records (CONTRACT 39).
pub fn batch(lines: usize) -> Vec<u8> {
    let line = format!("{{\"status\":200,\"body\":{VERDICT}}}\n");
    let body = line.repeat(lines);
    let head = json_head(body.len());
    let (head, rest) = head.split_at(head.len() - 2);
    format!("{head}X-Monitor-Batch: 1\r\n{rest}{body}").into_bytes()
}

/// As the verdict on one record, with the offer to take several.
pub fn offer() -> Vec<u8> {
    let head = json_head(VERDICT.len());
    let (head, rest) = head.split_at(head.len() - 2);
    format!("{head}X-Monitor-Batch: 1\r\n{rest}{VERDICT}").into_bytes()
}

const SSE_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
    Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n";

const VERDICT: &str = r#"{"request_id":"7d0e3a0e-1a3c-4a53-9d0a-0f1b6c1c8f11","schema_version":"2.0.0","status":"success","errors":[],"tokens":{"count":200,"usage_severity":null},"guardrails":{"flagged":false},"custom_policy":{"flagged":false},"dataclean":{"flagged":false,"cleaned_text":"","types":[]}}"#;

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

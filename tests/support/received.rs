//! What a monitoring backend receives: calls of §4.2, alone or in a batch, and attached files.

use super::message::Head;
use super::server::Received;
use serde_json::Value;

/// The path of a batch of calls (CONTRACT 39).
pub(crate) const BATCH: &str = "/process_batch/";

/// One recorded call.
#[derive(Clone, Debug)]
pub struct Call {
    /// `/process_request/` or `/process_response/`.
    pub path: String,
    /// Its head.
    pub head: Head,
    /// Its body.
    pub json: Value,
}

impl Call {
    /// Whether it is the pre-call registration.
    pub fn is_pre(&self) -> bool {
        self.path == "/process_request/"
    }

    /// The recorded text.
    pub fn message(&self) -> &str {
        self.json["message"].as_str().expect("a message")
    }

    /// One of the additional parameters.
    pub fn parameter(&self, name: &str) -> &Value {
        &self.json["additional_parameters"][name]
    }

    /// The exchange it belongs to (CONTRACT 5).
    pub fn exchange(&self) -> &str {
        self.parameter("request_id").as_str().expect("a request_id")
    }
}

/// The calls that a request stands for.
pub(crate) fn calls(request: &Received) -> Vec<Call> {
    if request.head.target() != BATCH {
        return vec![call(request)];
    }
    let text = std::str::from_utf8(&request.body).expect("NDJSON");
    let one = |line: &str| {
        let mut line: Value = serde_json::from_str(line).expect("a line of JSON");
        let path = match line["stage"].as_str() {
            Some("pre") => "/process_request/",
            Some("post") => "/process_response/",
            other => panic!("stage {other:?}"),
        };
        Call {
            path: path.to_owned(),
            head: request.head.clone(),
            json: line["body"].take(),
        }
    };
    text.lines().map(one).collect()
}

/// One attached file (CONTRACT 29).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Where it was posted.
    pub path: String,
    /// The bearer token.
    pub key: String,
    /// The field it stands in.
    pub field: String,
    /// Its name.
    pub name: String,
    /// Its media type.
    pub kind: String,
    /// Its bytes.
    pub content: Vec<u8>,
}

pub(crate) fn attached(request: &Received) -> Attached {
    let kind = request.head.header("content-type").unwrap_or_default();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=");
    let fence = format!("--{}", boundary.expect("multipart"));
    let part = request.body.strip_prefix(fence.as_bytes()).expect("a part");
    let end = format!("\r\n{fence}--\r\n");
    let part = part.strip_suffix(end.as_bytes()).expect("its end");
    let at = super::find(part, b"\r\n\r\n").expect("its head");
    let head = String::from_utf8(part[..at].to_vec()).expect("text");
    let after = |mark: &str, until: &str| {
        let rest = head.split_once(mark).expect(mark).1;
        rest.split(until).next().unwrap_or_default().to_owned()
    };
    let bearer = request.head.header("authorization").unwrap_or_default();
    Attached {
        path: request.head.target().to_owned(),
        key: bearer.trim_start_matches("Bearer ").to_owned(),
        field: after(" name=\"", "\""),
        name: after("filename=\"", "\""),
        kind: after("Content-Type: ", "\r\n"),
        content: part[at + 4..].to_vec(),
    }
}

/// Whether it is a batch without lines, which asks what the backend takes and whom it knows.
pub(crate) fn is_question(request: &Received) -> bool {
    request.head.target() == BATCH && request.body.is_empty()
}

pub(crate) fn is_call(request: &Received) -> bool {
    !request.head.target().ends_with("/attach_files")
}

pub(crate) fn calls_of(requests: &[Received]) -> Vec<Call> {
    let records = requests.iter().filter(|request| is_call(request));
    records.flat_map(calls).collect()
}

pub(crate) fn call(request: &Received) -> Call {
    Call {
        path: request.head.target().to_owned(),
        head: request.head.clone(),
        json: serde_json::from_slice(&request.body).expect("the backend is sent JSON"),
    }
}

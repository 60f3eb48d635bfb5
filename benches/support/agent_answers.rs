//! The answers of the APIs that agents speak, as model servers write them: 1 KiB, and streams of 200 events.

use crate::body::fill;

/// Events of one stream.
const EVENTS: usize = 200;

const RESPONSE_USAGE: &str = r#"{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":18}"#;

/// A response of that many bytes.
pub(crate) fn response(bytes: usize) -> String {
    filled(
        bytes,
        r#"{"id":"resp_bench","object":"response","created_at":1700000000,"status":"completed","model":"bench","output":[{"id":"msg_bench","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":""#,
        &format!(r#"","annotations":[]}}]}}],"usage":{RESPONSE_USAGE}}}"#),
    )
}

/// A message of that many bytes.
pub(crate) fn message(bytes: usize) -> String {
    filled(
        bytes,
        r#"{"id":"msg_bench","type":"message","role":"assistant","model":"bench","content":[{"type":"text","text":""#,
        r#""}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":9}}"#,
    )
}

fn filled(bytes: usize, start: &str, end: &str) -> String {
    let mut body = start.to_owned();
    fill(&mut body, bytes - start.len() - end.len());
    body.push_str(end);
    body
}

/// The frames of a response.
pub(crate) fn response_frames() -> Vec<String> {
    const AROUND: usize = 7;
    let place = r#""item_id":"msg_bench","output_index":0,"content_index":0"#;
    let words = (0..EVENTS - AROUND).map(word);
    let said: String = words.clone().collect();
    let part = |text: &str| {
        format!(r#"{{"type":"output_text","text":"{text}","annotations":[],"logprobs":[]}}"#)
    };
    let item = |status: &str, content: &str| {
        format!(
            r#"{{"id":"msg_bench","type":"message","role":"assistant","status":"{status}","content":[{content}]}}"#
        )
    };
    let response = |status: &str, output: &str, usage: &str| {
        format!(
            r#""response":{{"id":"resp_bench","object":"response","created_at":1700000000,"status":"{status}","model":"bench","output":[{output}],"usage":{usage}}}"#
        )
    };
    let done = item("completed", &part(&said));
    let mut events = vec![
        ("created", response("in_progress", "", "null")),
        (
            "output_item.added",
            format!(r#""output_index":0,"item":{}"#, item("in_progress", "")),
        ),
        (
            "content_part.added",
            format!(r#"{place},"part":{}"#, part("")),
        ),
    ];
    events.extend(words.map(|word| {
        let delta = format!(r#"{place},"delta":"{word}","logprobs":[]"#);
        ("output_text.delta", delta)
    }));
    events.extend([
        (
            "output_text.done",
            format!(r#"{place},"text":"{said}","logprobs":[]"#),
        ),
        (
            "content_part.done",
            format!(r#"{place},"part":{}"#, part(&said)),
        ),
        (
            "output_item.done",
            format!(r#""output_index":0,"item":{done}"#),
        ),
        ("completed", response("completed", &done, RESPONSE_USAGE)),
    ]);
    let frame = |(number, (name, data)): (usize, (&str, String))| {
        let name = format!("response.{name}");
        format!(
            "event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{number},{data}}}\n\n"
        )
    };
    events.into_iter().enumerate().map(frame).collect()
}

/// The frames of a message.
pub(crate) fn message_frames() -> Vec<String> {
    const AROUND: usize = 5;
    let mut events = vec![
        (
            "message_start",
            r#","message":{"id":"msg_bench","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":1}}"#.to_owned(),
        ),
        (
            "content_block_start",
            r#","index":0,"content_block":{"type":"text","text":""}"#.to_owned(),
        ),
    ];
    events.extend((0..EVENTS - AROUND).map(word).map(|word| {
        let delta = format!(r#","index":0,"delta":{{"type":"text_delta","text":"{word}"}}"#);
        ("content_block_delta", delta)
    }));
    events.extend([
        ("content_block_stop", r#","index":0"#.to_owned()),
        (
            "message_delta",
            r#","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":200}"#.to_owned(),
        ),
        ("message_stop", String::new()),
    ]);
    let frame = |(name, data): (&str, String)| {
        format!("event: {name}\ndata: {{\"type\":\"{name}\"{data}}}\n\n")
    };
    events.into_iter().map(frame).collect()
}

fn word(number: usize) -> String {
    format!("word {number} ")
}

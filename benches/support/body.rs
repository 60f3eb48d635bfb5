//! Chat bodies of an exact size, made of plain words with some escapes and some text beyond ASCII.
//! Not what a particular client sends: white space and key order are this file's own (§4.2).

/// One unit of text as it stands inside a JSON string.
const SENTENCE: &str = concat!(
    r#"Sum up the report of last week for people who were not there, name what is still open — "#,
    r#"naïve questions too — and say \"done\" at the end, so that nobody has to ask twice.\n"#,
);

/// How much text one turn of the conversation carries; longer bodies get more turns.
const TURN_BYTES: usize = 4000;

/// A chat completion request of exactly `bytes` bytes (at least 200), `stream` set or absent.
pub fn chat(bytes: usize, stream: bool) -> Vec<u8> {
    let mut body = String::with_capacity(bytes);
    body.push_str(r#"{"model":"bench","temperature":0.2,"#);
    if stream {
        body.push_str(r#""stream":true,"#);
    }
    body.push_str(r#""messages":[{"role":"system","content":"Answer briefly."}"#);
    const LAST: &str = r#",{"role":"user","content":""#;
    const EARLIER: &str = r#",{"role":"assistant","content":""#;
    const END: &str = r#""}"#;
    while bytes > body.len() + 2 * TURN_BYTES {
        body.push_str(EARLIER);
        fill(&mut body, TURN_BYTES);
        body.push_str(END);
    }
    body.push_str(LAST);
    let rest = bytes.saturating_sub(body.len() + END.len() + 2);
    fill(&mut body, rest);
    body.push_str(END);
    body.push_str("]}");
    body.into_bytes()
}

/// Appends exactly `bytes` bytes of text that is valid inside a JSON string.
pub fn fill(text: &mut String, bytes: usize) {
    let end = text.len() + bytes;
    while text.len() + SENTENCE.len() <= end {
        text.push_str(SENTENCE);
    }
    while text.len() < end {
        text.push('.');
    }
}

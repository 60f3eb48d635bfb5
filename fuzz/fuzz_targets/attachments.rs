//! Descriptions of attached files: a second reader finds the same list; a file has either an address or a content;
//! an address is one of the web and has no credentials, a content is what its base64 text says; names are no paths,
//! and media types can stand in a header.
#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use libfuzzer_sys::fuzz_target;
use monitor_gateway::gateway::attachments::fuzzing::{Described, name_of_disposition, read};
use serde_json::Value;

const LIMIT: u64 = 256;

fn check_name(name: &str) {
    assert!(name.len() <= 255, "{name:?}");
    assert!(!name.contains(['/', '\\']) && !name.contains(char::is_control), "{name:?}");
    assert!(!name.trim_matches('.').is_empty() && name.trim() == name, "{name:?}");
}

fn check_kind(kind: &str) {
    let is_shown = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    assert!(kind.len() <= 255 && kind.contains('/') && kind.bytes().all(is_shown), "{kind:?}");
}

fn check(file: &Described, described: &Value) {
    assert!(described.is_object(), "{described}: no description of a file");
    if let Some(name) = &file.name {
        check_name(name);
    }
    if let Some(kind) = &file.kind {
        check_kind(kind);
    }
    if let Some(url) = &file.url {
        assert!(matches!(url.scheme(), "http" | "https") && url.host().is_some(), "{url}");
        assert!(url.username().is_empty() && url.password().is_none(), "{url}");
        assert!(file.content.is_none());
    }
    if let Some(content) = &file.content {
        assert!(content.len() as u64 <= LIMIT);
        if let Some(text) = described["content_base64"].as_str() {
            let digits: String = text.split_ascii_whitespace().collect();
            assert_eq!(digits.trim_end_matches('='), STANDARD_NO_PAD.encode(content));
        }
    }
}

fuzz_target!(|header: &[u8]| {
    let files = read(header, LIMIT);
    if let Ok(Value::Array(described)) = serde_json::from_slice(header) {
        let files = files.expect("a list for the second reader");
        assert_eq!(files.len(), described.len());
        for (file, described) in files.iter().zip(&described) {
            if let Some(file) = file {
                check(file, described);
            }
        }
    }
    if let Some(name) = name_of_disposition(&String::from_utf8_lossy(header)) {
        check_name(&name);
    }
});

//! What an upstream sent while its request was still being written: nothing that ends the writing
//! (100, 103), or the beginning of its answer.

use std::fmt;

const HEAD_END: &[u8] = b"\r\n\r\n";
/// More than this before an answer is no interim response any longer.
const LONGEST_INTERIM: usize = 64 << 10;

/// The error of a write that was given up for an answer.
#[derive(Debug)]
pub(crate) struct AnsweredEarly;

impl fmt::Display for AnsweredEarly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the other side answered before it had the whole request")
    }
}

impl std::error::Error for AnsweredEarly {}

/// Whether `bytes` go beyond interim responses. Anything that is no HTTP/1 counts as an answer: it
/// is for the parser to refuse.
pub(crate) fn has_final_answer(mut bytes: &[u8]) -> bool {
    const STATUS: &[u8] = b"HTTP/1.1 ";
    if bytes.len() > LONGEST_INTERIM {
        return true;
    }
    loop {
        match bytes.get(STATUS.len()) {
            None => return !STATUS.starts_with(bytes) && !b"HTTP/1.0 ".starts_with(bytes),
            Some(b'1') if bytes.starts_with(b"HTTP/1.") => {}
            Some(_) => return true,
        }
        match memchr::memmem::find(bytes, HEAD_END) {
            None => return false,
            Some(end) => bytes = &bytes[end + HEAD_END.len()..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::has_final_answer;

    #[test]
    fn interim_responses_are_no_answer_and_all_else_is() {
        let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
        let answer = b"HTTP/1.1 413 Too Large\r\n";
        for cut in 0..=interim.len() {
            assert!(!has_final_answer(&interim[..cut]), "{cut}");
        }
        for cut in 0..=9 {
            let both = [&interim[..], &answer[..cut]].concat();
            assert!(!has_final_answer(&both), "{cut}");
        }
        assert!(has_final_answer(&[&interim[..], &answer[..]].concat()));
        assert!(has_final_answer(b"HTTP/1.0 200 OK"));
        assert!(has_final_answer(b"\x15\x03\x01"));
        assert!(has_final_answer(&[b'a'; 100]));
    }
}

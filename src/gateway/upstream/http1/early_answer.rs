//! Detects an answer that arrives while its request is still being written.
//!
//! An upstream that refuses a large body early, say with 413, and stops reading would leave the write waiting until its
//! timeout. Interim responses (100, 103) do not end the write; any final response does.

const HEAD_END: &[u8] = b"\r\n\r\n";
/// More bytes than this before a final head cannot be interim responses.
const LONGEST_INTERIM: usize = 64 << 10;

/// Whether `bytes` hold more than interim responses. Anything that is not HTTP/1 counts as an answer,
/// which the response parser then refuses.
pub(super) fn has_final_answer(mut bytes: &[u8]) -> bool {
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
    fn interim_responses_are_not_an_answer_and_anything_else_is() {
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

//! The wire format of one call for several records (CONTRACT 39): NDJSON lines `{"stage","body"}` in the
//! request, NDJSON lines `{"status",…}` in the answer, one per record in the same order.

use super::{AnalyzerError, BatchResult, Record, SentParts};
use monitor_model::{RecordId, Stage};
use monitor_wire::json;
use serde::Deserialize;

/// The path of the endpoint for batches.
pub(super) const PATH: &str = "/process_batch/";
/// The media type of requests and answers.
pub(super) const CONTENT_TYPE: &str = "application/x-ndjson";

/// Bytes of a record beside its message in most calls: a hint for the buffer's capacity.
pub(super) const OVERHEAD: usize = 640;

/// One line of the answer. The verdict itself is not read: the client has its answer already.
#[derive(Deserialize)]
struct Verdict {
    status: u16,
    body: Option<Body>,
}

#[derive(Deserialize)]
struct Body {
    request_id: Option<RecordId>,
}

/// The request body for these records; None if one of them cannot be written as JSON.
pub(super) fn lines(records: &[&Record], parts: SentParts) -> Option<Vec<u8>> {
    let length = |record: &&Record| OVERHEAD + record.message.len();
    let mut body = Vec::with_capacity(records.iter().map(length).sum());
    for record in records {
        let stage: &[u8] = match record.stage {
            Stage::PreCall => b"pre",
            Stage::PostCall => b"post",
        };
        for piece in [br#"{"stage":""#, stage, br#"","body":"#] {
            body.extend_from_slice(piece);
        }
        record.write_request(parts, &mut body).ok()?;
        body.extend_from_slice(b"}\n");
    }
    Some(body)
}

/// The result of each record. A record whose line is missing or unreadable may or may not have been stored, and is
/// sent again. The id is read for a record with files only.
pub(super) fn results(body: &[u8], records: &[&Record]) -> Vec<BatchResult> {
    let mut lines = body
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let result = |record: &&Record| match lines.next() {
        Some(line) if record.files.is_none() && is_stored(line) => Ok(None),
        line => result(line),
    };
    records.iter().map(result).collect()
}

/// Whether a line begins with a status that says so, and is JSON: most lines are like that, and a verdict is long.
fn is_stored(line: &[u8]) -> bool {
    let status = line.strip_prefix(br#"{"status":2"#);
    let begins =
        status.is_some_and(|rest| matches!(rest, [b'0'..=b'9', b'0'..=b'9', b',' | b'}', ..]));
    begins && json::scan(line).is_ok()
}

fn result(line: Option<&[u8]>) -> BatchResult {
    let verdict = line.and_then(|line| serde_json::from_slice::<Verdict>(line.trim_ascii()).ok());
    match verdict {
        Some(Verdict {
            status: 200..=299,
            body,
        }) => Ok(body.and_then(|body| body.request_id)),
        Some(Verdict { status, .. }) => Err(AnalyzerError::of_status(status)),
        None => Err(AnalyzerError::Unavailable(
            "its answer to a batch is incomplete".into(),
        )),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::backend::{FileList, RecordContext};
    use monitor_model::{CallTokens, ExchangeId, Secret};
    use std::sync::Arc;

    fn record(message: &str, application: &str) -> Record {
        Record {
            stage: Stage::PreCall,
            context: Arc::new(RecordContext {
                exchange: ExchangeId(uuid::Uuid::nil()),
                access_key: Secret::new("k"),
                application_id: Some(application.to_owned()),
                user_id: Some("u".to_owned()),
                session_id: None,
                trace: None,
            }),
            message: Arc::new(message.into()),
            part_breaks: Vec::new(),
            tools: monitor_model::ToolParts::default(),
            incomplete: false,
            unchecked: false,
            replaced: None,
            failure: None,
            files: None,
            model: None,
            usage: CallTokens::default(),
            is_stored_response: false,
            call: None,
            chain: None,
        }
    }

    #[test]
    fn a_line_is_one_json_document_whatever_the_record_says() {
        let said = "a \"quoted\" text\nwith \u{1} and \\ and \u{2028} of some length, so that it is written in runs";
        let record = record(said, "not a uuid \"\n");
        let lines = lines(&[&record, &record], SentParts::All).unwrap();
        let lines = std::str::from_utf8(&lines).unwrap();
        assert_eq!(lines.lines().count(), 2);
        for line in lines.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["stage"], "pre");
            let body = line["body"].as_object().unwrap();
            assert_eq!(body["message"], said);
            assert_eq!(body["application_id"], "not a uuid \"\n");
            assert_eq!(body["additional_parameters"]["user_id"], "u");
            assert_eq!(body.len(), 3);
        }
    }

    #[test]
    fn each_line_stands_for_its_own_record() {
        let answer = b"{\"status\":200,\"body\":{}}\n\n{\"status\":422,\"body\":{}}\nnonsense\n{\"status\":503}\n{\"status\":403}\n";
        let record = record("a", "b");
        let results = results(answer, &[&record; 6]);
        assert!(results[0].is_ok());
        assert!(matches!(results[1], Err(AnalyzerError::Refused(422))));
        for again in [2, 3, 5] {
            assert!(matches!(results[again], Err(AnalyzerError::Unavailable(_))));
        }
        assert!(matches!(results[4], Err(AnalyzerError::KeyRefused(403))));
    }

    #[test]
    fn a_line_that_is_cut_is_read_to_its_end() {
        let record = record("a", "b");
        let is_ok = |line: &[u8]| results(line, &[&record])[0].is_ok();
        for line in [
            &b"{\"status\":200}\n"[..],
            b"{\"status\":207,\"body\":{}}\n",
            b"{\"status\":200,\"body\":{}}",
            b" {\"body\":{},\"status\":200}\r\n",
        ] {
            assert!(is_ok(line), "{}", String::from_utf8_lossy(line));
        }
        for line in [
            &b"{\"status\":200,\"body\":{}"[..],
            b"{\"status\":200,\"body\":{\n",
            b"{\"status\":200,<html>of a proxy</html>}\n",
            b"{\"status\":2000}\n",
            b"{\"status\":20}\n",
            b"{\"status\":302}\n",
            b"",
        ] {
            assert!(!is_ok(line), "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn the_id_of_a_record_with_files_is_read() {
        let id = RecordId(uuid::Uuid::from_u128(7));
        let line = format!(
            "{{\"status\":200,\"body\":{{\"request_id\":\"{}\"}}}}\n",
            id.0
        );
        let mut with_files = record("a", "b");
        with_files.files = Some(Arc::new(FileList {
            headers: Vec::new(),
            request_id: String::new(),
            record: None,
        }));
        let found = results(line.as_bytes(), &[&with_files]);
        assert_eq!(*found[0].as_ref().unwrap(), Some(id));
    }
}

//! What goes over the wire in one call for several records (CONTRACT 39): NDJSON lines
//! `{"stage","body"}` out, NDJSON lines `{"status",…}` back, one for each in its order.

use super::http::refusal;
use super::record::Parameters;
use super::{AnalyzerError, BatchResult, Record};
use monitor_model::{AnalysisRequest, RecordId, Stage};
use serde::{Deserialize, Serialize};

/// The header of a backend that takes batches; its value is 1.
pub(super) const OFFER: &str = "x-monitor-batch";
/// Where they go.
pub(super) const PATH: &str = "/process_batch/";
/// What they are.
pub(super) const CONTENT_TYPE: &str = "application/x-ndjson";

/// Bytes of a call beside its message, mostly; a call with more grows.
pub(super) const BESIDES: usize = 640;

#[derive(Serialize)]
struct Line<'a> {
    stage: &'static str,
    body: AnalysisRequest<'a, Parameters<'a>>,
}

/// The verdict itself is for nobody here: the client has its answer.
#[derive(Deserialize)]
struct Verdict {
    status: u16,
    body: Option<Body>,
}

#[derive(Deserialize)]
struct Body {
    request_id: Option<RecordId>,
}

/// The body of a call for these records; None where one of them is no JSON.
pub(super) fn lines(records: &[&Record]) -> Option<Vec<u8>> {
    let length = |record: &&Record| BESIDES + record.message.len();
    let mut body = Vec::with_capacity(records.iter().map(length).sum());
    for record in records {
        let line = Line {
            stage: match record.stage {
                Stage::PreCall => "pre",
                Stage::PostCall => "post",
            },
            body: AnalysisRequest {
                application_id: record.context.application_id.as_deref(),
                message: &record.message,
                additional_parameters: record.parameters(),
            },
        };
        serde_json::to_writer(&mut body, &line).ok()?;
        body.push(b'\n');
    }
    Some(body)
}

/// What became of each of `count` records. One whose line is missing or unreadable may have been
/// taken or not, and is sent again.
pub(super) fn fates(body: &[u8], count: usize) -> Vec<BatchResult> {
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty());
    (0..count).map(|_| fate(lines.next())).collect()
}

fn fate(line: Option<&[u8]>) -> BatchResult {
    let verdict = line.and_then(|line| serde_json::from_slice::<Verdict>(line).ok());
    match verdict {
        Some(Verdict {
            status: 200..=299,
            body,
        }) => Ok(body.and_then(|body| body.request_id)),
        Some(Verdict { status, .. }) => Err(refusal(status)),
        None => Err(AnalyzerError::Unavailable(
            "its answer to a batch is not whole".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_stands_for_its_own_record() {
        let answer = b"{\"status\":200,\"body\":{}}\n\n{\"status\":422,\"body\":{}}\nnonsense\n{\"status\":503}\n{\"status\":403}\n";
        let fates = fates(answer, 6);
        assert!(fates[0].is_ok());
        assert!(matches!(fates[1], Err(AnalyzerError::Refused(422))));
        for again in [2, 3, 5] {
            assert!(matches!(fates[again], Err(AnalyzerError::Unavailable(_))));
        }
        assert!(matches!(fates[4], Err(AnalyzerError::KeyRefused(403))));
    }
}

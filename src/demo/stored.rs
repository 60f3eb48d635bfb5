//! The latest responses, for `GET /v1/responses/{id}`.

use super::refusal::{Refusal, check_key};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

const MOST: usize = 100;
/// Bytes of a response; longer ones are not stored.
const LONGEST: usize = 64 * 1024;

/// The bodies by id, newest first.
#[derive(Debug, Default)]
pub(super) struct StoredResponses(Mutex<VecDeque<(String, Vec<u8>)>>);

impl StoredResponses {
    /// Stores a response; the oldest one goes when there are too many.
    pub(super) fn add(&self, id: &str, body: &[u8]) {
        if body.len() > LONGEST {
            return;
        }
        let mut stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stored.truncate(MOST - 1);
        stored.push_front((id.to_owned(), body.to_vec()));
    }

    fn find(&self, id: &str) -> Option<Vec<u8>> {
        let stored = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = stored.iter().find(|(its, _)| its == id);
        found.map(|(_, body)| body.clone())
    }
}

/// Answers with a stored response.
pub(super) async fn get(
    State(stored): State<Arc<StoredResponses>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    check_key(&headers)?;
    let body = stored.find(&id).ok_or_else(|| Refusal::named("response"))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_latest_and_short_ones_are_stored() {
        let stored = StoredResponses::default();
        stored.add("long", &[b' '; LONGEST + 1]);
        for number in 0..=MOST {
            stored.add(&number.to_string(), b"{}");
        }
        let is_stored = |id: &str| stored.find(id).is_some();
        assert_eq!(
            [
                is_stored("long"),
                is_stored("0"),
                is_stored("1"),
                is_stored("100")
            ],
            [false, false, true, true]
        );
    }
}

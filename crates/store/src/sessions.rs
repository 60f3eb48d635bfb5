//! Sessions: the records that carry one `session_id` (CONTRACT 5).

use monitor_model::ApplicationId;

/// The most bytes of the ids and types of the records on one page of a list, or of the sessions of one; a page
/// always holds at least one.
pub(crate) const LIST_PAGE_BYTES: usize = 4 << 20;

/// The records of one session taken together (CONTRACT 5 `session_id`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// The application it belongs to: equal names in two applications are two sessions.
    pub application_id: ApplicationId,
    /// The name that the client gave it.
    pub session_id: String,
    /// The user of its latest record that names one.
    pub user_id: Option<String>,
    /// When its first record was received, milliseconds since 1970.
    pub first_ms: i64,
    /// When its latest record was received, milliseconds since 1970.
    pub last_ms: i64,
    /// Number of records, prompts and answers alike.
    pub messages: u64,
    /// Records that any check flagged.
    pub flagged: u64,
    /// Tokens of all its records.
    pub tokens: u64,
}

/// One page of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionPage {
    /// The sessions, the one with the latest record first.
    pub sessions: Vec<SessionSummary>,
    /// Whether there is a next page; it begins behind the last session.
    pub has_more: bool,
}

impl SessionPage {
    /// Cuts a list that was read with one session more than `limit`, which shows that a next page exists.
    pub fn cut(mut sessions: Vec<SessionSummary>, limit: u32) -> Self {
        let mut bytes = 0_usize;
        let fit = sessions.iter().take(limit as usize).take_while(|session| {
            let user = session.user_id.as_ref().map_or(0, String::len);
            bytes = bytes.saturating_add(session.session_id.len() + user);
            bytes <= LIST_PAGE_BYTES
        });
        let fit = fit.count().max(1);
        let has_more = sessions.len() > fit;
        sessions.truncate(fit);
        Self { sessions, has_more }
    }
}

/// Which sessions a list shows.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    /// Only this application.
    pub application_id: Option<ApplicationId>,
    /// Only sessions of this end user.
    pub user_id: Option<String>,
    /// Only sessions whose latest record was received at this time or later, milliseconds since 1970.
    pub from_ms: Option<i64>,
    /// Only sessions whose latest record was received before this time, milliseconds since 1970.
    pub to_ms: Option<i64>,
    /// Only sessions with a record that a check flagged.
    pub only_flagged: bool,
    /// The last session of the previous page: its `last_ms`, application and name.
    pub before: Option<(i64, ApplicationId, String)>,
    /// Sessions per page, from 1.
    pub limit: u32,
}

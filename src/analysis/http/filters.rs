//! Filters and cursors as they stand in an address (CONTRACT 38). A parameter that is not known is
//! refused: a misspelt filter would otherwise show everything.

use crate::analysis::ApiError;
use crate::model::{ApplicationId, Stage};
use crate::store::{RecordFilter, SessionFilter, VerdictFilter};
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jiff::civil::Date;

/// Query parameters in the order they came.
pub(super) type Parameters = Result<Query<Vec<(String, String)>>, QueryRejection>;

/// Items of a page when nothing is said.
pub(super) const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;
/// Characters of a filter's text.
const MAX_TEXT: usize = 1000;
/// Days of one answer of statistics.
const MAX_DAYS: i64 = 3_660;

const RECORD_PARAMETERS: &str = "takes application_id, user_id, session_id, stage, from, to, \
     verdict, type, text, before and limit only";
const SESSION_PARAMETERS: &str = "takes application_id, user_id, before and limit only";
const STATISTICS_PARAMETERS: &str = "takes application_id, from and to only";

/// The pairs of an address.
pub(super) fn pairs(parameters: Parameters) -> Result<Vec<(String, String)>, ApiError> {
    let Query(pairs) =
        parameters.map_err(|_| problem("query", "cannot be read as name=value pairs"))?;
    Ok(pairs)
}

/// A filter of `GET /records` and of exports.
pub(super) fn records(pairs: Vec<(String, String)>) -> Result<RecordFilter, ApiError> {
    let mut filter = RecordFilter {
        limit: DEFAULT_LIMIT,
        ..RecordFilter::default()
    };
    for (name, value) in pairs {
        narrow(&mut filter, &name, value)?;
    }
    Ok(filter)
}

fn narrow(filter: &mut RecordFilter, name: &str, value: String) -> Result<(), ApiError> {
    match name {
        "application_id" => filter.application_id = Some(application(&value)?),
        "user_id" => filter.user_id = Some(text("user_id", value)?),
        "session_id" => filter.session_id = Some(text("session_id", value)?),
        "stage" => {
            let stage = stage(&value).ok_or(problem("stage", "must be pre or post"))?;
            filter.stage = Some(stage);
        }
        "from" => filter.from_ms = Some(time("from", &value)?),
        "to" => filter.to_ms = Some(time("to", &value)?),
        "verdict" => filter.verdict = Some(verdict(&value)?),
        "type" => filter.kind = Some(text("type", value)?),
        "text" => filter.text = Some(text("text", value)?),
        "before" => filter.before = Some(integer("before", &value)?),
        "limit" => filter.limit = limit(&value)?,
        _ => return Err(problem("query", RECORD_PARAMETERS)),
    }
    Ok(())
}

/// A filter of `GET /sessions`.
pub(super) fn sessions(pairs: Vec<(String, String)>) -> Result<SessionFilter, ApiError> {
    let mut filter = SessionFilter {
        limit: DEFAULT_LIMIT,
        ..SessionFilter::default()
    };
    for (name, value) in pairs {
        match name.as_str() {
            "application_id" => filter.application_id = Some(application(&value)?),
            "user_id" => filter.user_id = Some(text("user_id", value)?),
            "before" => {
                let cursor = read_session_cursor(&value);
                let cursor = cursor.ok_or(problem("before", "must be a next_before of a page"))?;
                filter.before = Some(cursor);
            }
            "limit" => filter.limit = limit(&value)?,
            _ => return Err(problem("query", SESSION_PARAMETERS)),
        }
    }
    Ok(filter)
}

/// What `GET /statistics` is asked for.
pub(super) struct StatisticsFilter {
    pub(super) application_id: Option<ApplicationId>,
    /// First and last day, days since 1970.
    pub(super) days: (i64, i64),
}

/// A filter of `GET /statistics`; without days the 30 that end with `today`.
pub(super) fn statistics(
    pairs: Vec<(String, String)>,
    today: i64,
) -> Result<StatisticsFilter, ApiError> {
    let (mut application_id, mut from, mut to) = (None, None, None);
    for (name, value) in pairs {
        match name.as_str() {
            "application_id" => application_id = Some(application(&value)?),
            "from" => from = Some(day("from", &value)?),
            "to" => to = Some(day("to", &value)?),
            _ => return Err(problem("query", STATISTICS_PARAMETERS)),
        }
    }
    let last = to.unwrap_or(today);
    let first = from.unwrap_or(last - 29);
    if first > last {
        return Err(problem("from", "must not be after to"));
    }
    if last - first >= MAX_DAYS {
        return Err(problem("from", "must be at most 3660 days before to"));
    }
    Ok(StatisticsFilter {
        application_id,
        days: (first, last),
    })
}

/// The cursor of a page of sessions: opaque to clients.
pub(super) fn session_cursor(last_ms: i64, application: ApplicationId, session: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{last_ms} {application} {session}"))
}

fn read_session_cursor(text: &str) -> Option<(i64, ApplicationId, String)> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let mut parts = text.splitn(3, ' ');
    let last_ms = parts.next()?.parse().ok()?;
    let application = parts.next()?.parse().ok()?;
    Some((last_ms, application, parts.next()?.to_owned()))
}

/// `2026-01-31` of days since 1970; None beyond the calendar.
pub(super) fn day_text(day: i64) -> Option<String> {
    let date = epoch().checked_add(jiff::Span::new().try_days(day).ok()?);
    Some(date.ok()?.to_string())
}

fn epoch() -> Date {
    Date::constant(1970, 1, 1)
}

fn day(field: &'static str, value: &str) -> Result<i64, ApiError> {
    let date: Result<Date, _> = value.parse();
    let since = date.and_then(|date| date.since((jiff::Unit::Day, epoch())));
    let since = since.map_err(|_| problem(field, "must be a day such as 2026-01-31"))?;
    Ok(i64::from(since.get_days()))
}

/// Milliseconds since 1970 of a number of them or of a time such as `2026-01-31T12:00:00Z`.
fn time(field: &'static str, value: &str) -> Result<i64, ApiError> {
    if let Ok(milliseconds) = value.parse() {
        return Ok(milliseconds);
    }
    let time: Result<Timestamp, _> = value.parse();
    let words = "must be milliseconds since 1970 or a time such as 2026-01-31T12:00:00Z";
    Ok(time.map_err(|_| problem(field, words))?.as_millisecond())
}

fn application(value: &str) -> Result<ApplicationId, ApiError> {
    value
        .parse()
        .map_err(|_| problem("application_id", "must be a UUID"))
}

fn text(field: &'static str, value: String) -> Result<String, ApiError> {
    match value.chars().nth(MAX_TEXT) {
        None => Ok(value),
        Some(_) => Err(problem(field, "must have at most 1000 characters")),
    }
}

fn integer(field: &'static str, value: &str) -> Result<i64, ApiError> {
    value
        .parse()
        .map_err(|_| problem(field, "must be an integer"))
}

fn limit(value: &str) -> Result<u32, ApiError> {
    let limit = value.parse().ok();
    limit
        .filter(|limit| (1..=MAX_LIMIT).contains(limit))
        .ok_or(problem("limit", "must be an integer from 1 to 200"))
}

fn verdict(word: &str) -> Result<VerdictFilter, ApiError> {
    Ok(match word {
        "flagged" => VerdictFilter::Flagged,
        "clean" => VerdictFilter::Clean,
        "guardrails" => VerdictFilter::Guardrails,
        "custom_policy" => VerdictFilter::CustomPolicy,
        "dataclean" => VerdictFilter::Dataclean,
        "blocked" => VerdictFilter::Blocked,
        "failed" => VerdictFilter::Failed,
        _ => {
            return Err(problem(
                "verdict",
                "must be flagged, clean, guardrails, custom_policy, dataclean, blocked or failed",
            ));
        }
    })
}

fn stage(word: &str) -> Option<Stage> {
    match word {
        "pre" => Some(Stage::PreCall),
        "post" => Some(Stage::PostCall),
        _ => None,
    }
}

pub(super) fn problem(field: &'static str, problem: &'static str) -> ApiError {
    ApiError::Field { field, problem }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    }

    #[test]
    fn a_time_is_milliseconds_or_rfc_3339() {
        for (value, expected) in [
            ("0", 0),
            ("-5", -5),
            ("1970-01-01T00:00:01Z", 1_000),
            ("2026-11-21T10:00:00.5+03:00", 1_795_244_400_500),
        ] {
            let filter = records(given(&[("from", value), ("to", value)])).unwrap();
            assert_eq!(filter.from_ms, Some(expected), "{value}");
            assert_eq!(filter.to_ms, Some(expected), "{value}");
        }
        for bad in ["yesterday", "2026-13-01T00:00:00Z", "", "1.5"] {
            assert!(records(given(&[("from", bad)])).is_err(), "{bad}");
        }
    }

    #[test]
    fn days_go_both_ways_through_the_calendar() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("2026-11-21", 20_778),
            ("2024-02-29", 19_782),
        ] {
            assert_eq!(day("from", text), Ok(days));
            assert_eq!(day_text(days).as_deref(), Some(text));
        }
        assert!(day("from", "2023-02-29").is_err());
    }

    #[test]
    fn statistics_are_of_thirty_days_unless_said() {
        let filter = statistics(Vec::new(), 100).unwrap();
        assert_eq!(filter.days, (71, 100));
        let filter = statistics(given(&[("from", "1970-01-03"), ("to", "1970-01-05")]), 0).unwrap();
        assert_eq!(filter.days, (2, 4));
        assert!(statistics(given(&[("from", "1970-01-05"), ("to", "1970-01-03")]), 0).is_err());
        assert!(statistics(given(&[("from", "1970-01-01"), ("to", "1990-01-01")]), 0).is_err());
    }

    #[test]
    fn a_session_cursor_comes_back_whatever_the_name() {
        let application = ApplicationId::random();
        for name in ["", "a b c", "сессия\u{0}", "%_'"] {
            let text = session_cursor(-7, application, name);
            let filter = sessions(given(&[("before", &text)])).unwrap();
            assert_eq!(filter.before, Some((-7, application, name.to_owned())));
        }
        assert!(sessions(given(&[("before", "x")])).is_err());
    }

    #[test]
    fn an_unknown_parameter_is_refused_everywhere() {
        let odd = || given(&[("user", "x")]);
        assert!(records(odd()).is_err());
        assert!(sessions(odd()).is_err());
        assert!(statistics(odd(), 0).is_err());
        assert!(records(given(&[("text", &"ж".repeat(1001))])).is_err());
        assert!(records(given(&[("text", &"ж".repeat(1000))])).is_ok());
    }
}

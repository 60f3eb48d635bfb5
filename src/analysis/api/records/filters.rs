//! Filters and cursors in the query of a URL (CONTRACT 38).

use crate::analysis::api::extract::query::Query;
use crate::analysis::{ApiError, FieldProblem};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jiff::civil::Date;
use monitor_model::{ApplicationId, Stage};
use monitor_store::{
    CostFilter, CostGroups, RecordFilter, SessionFilter, StatisticsFilter, ToolFilter,
    VerdictFilter,
};

/// The longest text of a filter, in characters.
const MAX_TEXT: usize = 1000;
/// Days in one answer of statistics.
const MAX_DAYS: i64 = 3_660;
/// Entries in one answer of statistics, also the default.
const MOST_STATISTICS: u32 = 1_000;
/// Sums of costs in one answer, and how many it may be asked for.
const COSTS: u32 = 1_000;
pub(super) const MOST_COSTS: u32 = 10_000;

const GROUPS: &str = "must be application, user, model and day, joined by commas";
pub(super) const UUID: &str = "must be a UUID";
pub(super) const INTEGER: &str = "must be an integer";
const DAY: &str = "must be a day such as 2026-01-31";
pub(super) const TIME: &str =
    "must be milliseconds since 1970 or a time such as 2026-01-31T12:00:00Z";
pub(super) const LATE: &str = "must not be after to";
const VERDICT: &str =
    "must be flagged, clean, unchecked, guardrails, custom_policy, dataclean, blocked or failed";

/// The filter of `GET /records`.
pub(crate) fn records(mut query: Query) -> Result<RecordFilter, ApiError> {
    let mut filter = narrowed(&mut query)?;
    filter.limit = query.limit()?;
    query.finish()?;
    Ok(filter)
}

/// Like [`records`], without a page size, which other lists interpret differently.
pub(crate) fn narrowed(query: &mut Query) -> Result<RecordFilter, ApiError> {
    Ok(RecordFilter {
        application_id: query.typed("application_id", UUID, application)?,
        ..conditions(query)?
    })
}

/// The filter of a replay; the application is in its path.
pub(crate) fn replay(mut query: Query) -> Result<RecordFilter, ApiError> {
    let mut filter = conditions(&mut query)?;
    filter.limit = query.limit()?;
    query.finish()?;
    Ok(filter)
}

fn conditions(query: &mut Query) -> Result<RecordFilter, ApiError> {
    let stage = "must be pre or post";
    let filter = RecordFilter {
        application_id: None,
        user_id: text(query, "user_id")?,
        session_id: text(query, "session_id")?,
        stage: query.typed("stage", stage, stage_of)?,
        from_ms: query.typed("from", TIME, time)?,
        to_ms: query.typed("to", TIME, time)?,
        verdict: query.typed("verdict", VERDICT, verdict)?,
        kind: text(query, "type")?,
        model: text(query, "model")?,
        token: text(query, "token")?,
        tools: tools(query)?,
        text: text(query, "text")?,
        before: query.typed("before", INTEGER, |text| text.parse().ok())?,
        after: None,
        limit: 0,
    };
    match (filter.from_ms, filter.to_ms) {
        (Some(from), Some(to)) if from > to => Err(FieldProblem::new("from", LATE).into()),
        _ => Ok(filter),
    }
}

fn tools(query: &mut Query) -> Result<Option<ToolFilter>, ApiError> {
    let is_true = |text: &str| (text == "true").then_some(ToolFilter::Any);
    let any = query.typed("has_tool_calls", "must be true", is_true)?;
    let named = text(query, "tool")?.map(ToolFilter::Named);
    Ok(named.or(any))
}

/// The filter of `GET /sessions`.
pub(crate) fn sessions(mut query: Query) -> Result<SessionFilter, ApiError> {
    let cursor = "must be the next_before of a page";
    let filter = SessionFilter {
        application_id: query.typed("application_id", UUID, application)?,
        user_id: text(&mut query, "user_id")?,
        from_ms: query.typed("from", TIME, time)?,
        to_ms: query.typed("to", TIME, time)?,
        only_flagged: query
            .typed("flagged", "must be true", |text| {
                (text == "true").then_some(())
            })?
            .is_some(),
        before: query.typed("before", cursor, read_session_cursor)?,
        limit: query.limit()?,
    };
    query.finish()?;
    match (filter.from_ms, filter.to_ms) {
        (Some(from), Some(to)) if from > to => Err(FieldProblem::new("from", LATE).into()),
        _ => Ok(filter),
    }
}

/// The filter of `GET /statistics`; the default is the 30 days that end with `today`.
pub(crate) fn statistics(mut query: Query, today: i64) -> Result<StatisticsFilter, ApiError> {
    let application_id = query.typed("application_id", UUID, application)?;
    let days = days(&mut query, today)?;
    let after = query.typed("after", "must be the next_after of a page", read_day_cursor)?;
    let limit = query.limit_up_to(MOST_STATISTICS)?;
    query.finish()?;
    Ok(StatisticsFilter {
        application_id,
        days: checked(days)?,
        after,
        limit: limit.unwrap_or(MOST_STATISTICS),
    })
}

/// The filter of `GET /statistics/costs`; the default is the 30 days that end with `today`, as one sum.
pub(crate) fn costs(mut query: Query, today: i64) -> Result<CostFilter, ApiError> {
    let application_id = query.typed("application_id", UUID, application)?;
    let user_id = text(&mut query, "user_id")?;
    let model = text(&mut query, "model")?;
    let groups = query.typed("group_by", GROUPS, groups)?;
    let days = days(&mut query, today)?;
    let limit = query.limit_up_to(MOST_COSTS)?;
    query.finish()?;
    Ok(CostFilter {
        application_id,
        user_id,
        model,
        days: checked(days)?,
        groups: groups.unwrap_or_default(),
        limit: limit.unwrap_or(COSTS),
    })
}

/// The first and the last day of these parameters.
pub(crate) fn day_range(mut query: Query, today: i64) -> Result<(i64, i64), ApiError> {
    let days = days(&mut query, today)?;
    query.finish()?;
    checked(days)
}

fn groups(text: &str) -> Option<CostGroups> {
    let mut groups = CostGroups::default();
    for word in text.split(',') {
        let group = match word {
            "application" => &mut groups.application,
            "user" => &mut groups.user,
            "model" => &mut groups.model,
            "day" => &mut groups.day,
            _ => return None,
        };
        *group = true;
    }
    Some(groups)
}

/// The first and the last day; the default is the 30 days that end with `today`.
pub(super) fn days(query: &mut Query, today: i64) -> Result<(i64, i64), ApiError> {
    let from = query.typed("from", DAY, day)?;
    let last = query.typed("to", DAY, day)?.unwrap_or(today);
    Ok((from.unwrap_or(last - 29), last))
}

pub(super) fn checked((first, last): (i64, i64)) -> Result<(i64, i64), ApiError> {
    if first > last {
        return Err(FieldProblem::new("from", LATE).into());
    }
    if last - first >= MAX_DAYS {
        let problem = format!("must be less than {MAX_DAYS} days before to");
        return Err(FieldProblem::new("from", problem).into());
    }
    Ok((first, last))
}

/// The cursor of a page of sessions; opaque to clients.
pub(crate) fn session_cursor(last_ms: i64, application: ApplicationId, session: &str) -> String {
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

/// The cursor of a page of statistics; opaque to clients.
pub(crate) fn day_cursor(day: i64, application: ApplicationId, stage: Stage) -> String {
    URL_SAFE_NO_PAD.encode(format!("{day} {application} {}", stage.as_str()))
}

fn read_day_cursor(text: &str) -> Option<(i64, ApplicationId, Stage)> {
    let (day, application, stage) = read_session_cursor(text)?;
    let stages = [Stage::PreCall, Stage::PostCall];
    let stage = stages.into_iter().find(|one| one.as_str() == stage)?;
    Some((day, application, stage))
}

/// The date of a number of days since 1970, such as `2026-01-31`; None beyond the calendar.
pub(crate) fn day_text(day: i64) -> Option<String> {
    let date = epoch().checked_add(jiff::Span::new().try_days(day).ok()?);
    Some(date.ok()?.to_string())
}

fn epoch() -> Date {
    Date::constant(1970, 1, 1)
}

fn day(text: &str) -> Option<i64> {
    let date: Date = text.parse().ok()?;
    let since = date.since((jiff::Unit::Day, epoch())).ok()?;
    Some(i64::from(since.get_days()))
}

/// Milliseconds since 1970, given as a number or as a time such as `2026-01-31T12:00:00Z`.
pub(super) fn time(text: &str) -> Option<i64> {
    let since = || text.parse::<Timestamp>().ok();
    let parsed = text.parse().ok();
    parsed.or_else(|| since().map(Timestamp::as_millisecond))
}

pub(super) fn application(text: &str) -> Option<ApplicationId> {
    text.parse().ok()
}

pub(super) fn text(query: &mut Query, name: &'static str) -> Result<Option<String>, ApiError> {
    let problem = format!("must have at most {MAX_TEXT} characters");
    query.typed(name, &problem, |text| {
        let fits = text.chars().nth(MAX_TEXT).is_none();
        fits.then(|| text.to_owned())
    })
}

fn verdict(word: &str) -> Option<VerdictFilter> {
    let mut all = VerdictFilter::ALL.into_iter();
    all.find(|verdict| verdict.as_str() == word)
}

fn stage_of(word: &str) -> Option<Stage> {
    match word {
        "pre" => Some(Stage::PreCall),
        "post" => Some(Stage::PostCall),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Query {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Query::of(pairs.iter().map(own).collect())
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
        let turned = [("from", "2"), ("to", "1")];
        assert!(records(given(&turned)).is_err(), "the end comes first");
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
            assert_eq!(day(text), Some(days));
            assert_eq!(day_text(days).as_deref(), Some(text));
        }
        assert_eq!(day("2023-02-29"), None);
    }

    #[test]
    fn statistics_are_of_thirty_days_unless_said() {
        let filter = statistics(given(&[]), 100).unwrap();
        assert_eq!(filter.days, (71, 100));
        let filter = statistics(given(&[("from", "1970-01-03"), ("to", "1970-01-05")]), 0).unwrap();
        assert_eq!(filter.days, (2, 4));
        assert!(statistics(given(&[("from", "1970-01-05"), ("to", "1970-01-03")]), 0).is_err());
        assert!(statistics(given(&[("from", "1970-01-01"), ("to", "1990-01-01")]), 0).is_err());
    }

    #[test]
    fn costs_are_one_sum_unless_groups_are_named() {
        let filter = costs(given(&[]), 100).unwrap();
        assert_eq!(filter.groups, CostGroups::default());
        assert_eq!((filter.days, filter.limit), ((71, 100), COSTS));
        let filter = costs(given(&[("group_by", "day,model")]), 0).unwrap();
        let expected = CostGroups {
            model: true,
            day: true,
            ..CostGroups::default()
        };
        assert_eq!(filter.groups, expected);
        for odd in ["", "day,", "week", "day, model"] {
            assert!(costs(given(&[("group_by", odd)]), 0).is_err(), "{odd}");
        }
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
    fn a_cursor_of_statistics_comes_back() {
        let place = (-7, ApplicationId::random(), Stage::PostCall);
        let text = day_cursor(place.0, place.1, place.2);
        let filter = statistics(given(&[("after", &text), ("limit", "7")]), 0).unwrap();
        assert_eq!((filter.after, filter.limit), (Some(place), 7));
        let session = session_cursor(-7, place.1, "x");
        assert!(statistics(given(&[("after", &session)]), 0).is_err());
        assert!(statistics(given(&[("limit", "1001")]), 0).is_err());
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

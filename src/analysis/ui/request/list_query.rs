//! The filter in a page's address. Its parameters are those of the API's list and are read by the same
//! code; an application may also be named, and a time without a zone is UTC.

use crate::analysis::api::extract::query::Query as FilterQuery;
use crate::analysis::api::records::filters;
use crate::analysis::records::{RecordFilter, SessionFilter};
use crate::analysis::ui::application_names;
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::{ApiError, Caller, Services};
use axum::extract::Query;

/// The parts of a filter that its form always shows.
const MAIN: [&str; 3] = ["text", "verdict", "application_id"];
/// The parts of a filter that its form folds away while none of them is set.
pub(crate) const FOLDED: [&str; 10] = [
    "user_id",
    "session_id",
    "stage",
    "type",
    "model",
    "token",
    "tool",
    "has_tool_calls",
    "from",
    "to",
];
/// The part that only the filter of sessions has.
const FLAGGED: &str = "flagged";
/// The page of a list.
const PAGE: [&str; 2] = ["before", "limit"];

/// The pairs of a page's address.
pub(crate) type Pairs = Query<Vec<(String, String)>>;

/// How many records earlier pages of a search have examined; no part of the filter.
const SEARCHED: &str = "looked";

/// The filter in the address of a list, as it was typed, without its empty parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListQuery {
    parts: Vec<(&'static str, String)>,
    searched: u64,
}

impl ListQuery {
    /// Reads the parts of a filter; other names are ignored.
    pub(crate) fn read(Query(pairs): Pairs) -> Self {
        let known = |(name, text): (String, String)| {
            let mut names = MAIN.into_iter().chain(FOLDED).chain(PAGE).chain([FLAGGED]);
            let name = names.find(|known| *known == name)?;
            let text = text.trim();
            (!text.is_empty()).then(|| (name, text.to_owned()))
        };
        let searched = pairs.iter().find(|(name, _)| name == SEARCHED);
        Self {
            searched: searched
                .and_then(|(_, text)| text.parse().ok())
                .unwrap_or(0),
            parts: pairs.into_iter().filter_map(known).collect(),
        }
    }

    /// A part's text; empty where it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.parts.iter().find(|(given, _)| *given == name);
        found.map_or("", |(_, text)| text)
    }

    /// The names of the parts that are given.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.parts.iter().map(|(name, _)| *name)
    }

    /// Whether any of these parts is given.
    pub(crate) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| !self.text(name).is_empty())
    }

    /// The same with one part of another value, or without it.
    pub(crate) fn with(&self, name: &'static str, text: Option<&str>) -> Self {
        let mut parts = self.parts.clone();
        parts.retain(|(given, _)| *given != name);
        parts.extend(text.map(|text| (name, text.to_owned())));
        Self {
            parts,
            searched: self.searched,
        }
    }

    /// Records that earlier pages of this search have examined.
    pub(crate) fn searched(&self) -> u64 {
        self.searched
    }

    /// The address that continues a search before this sequence number, with the count of records that
    /// were examined up to now.
    pub(crate) fn continued_search(&self, path: &str, before: i64, searched: u64) -> String {
        let before = self.with("before", Some(&before.to_string()));
        format!("{}&{SEARCHED}={searched}", before.address(path))
    }

    /// The filter as the query string of a URL.
    pub(crate) fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.parts);
        query.finish()
    }

    /// An address with this filter.
    pub(crate) fn address(&self, path: &str) -> String {
        match self.query() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// The same with the application's identifier in place of its name.
    pub(crate) async fn resolved(
        &self,
        services: &Services,
        caller: &Caller,
        r: &RecordPhrases,
    ) -> Result<Self, ApiError> {
        let named = self.text("application_id");
        if named.is_empty() {
            return Ok(self.clone());
        }
        let id = application_names::resolve(services, caller, named, r).await?;
        Ok(self.with("application_id", Some(&id.to_string())))
    }

    /// As the filter of a list of records.
    pub(crate) fn records(&self) -> Result<RecordFilter, ApiError> {
        filters::records(FilterQuery::of(self.with(FLAGGED, None).pairs()))
    }

    /// As the filter of a list of sessions.
    pub(crate) fn sessions(&self) -> Result<SessionFilter, ApiError> {
        filters::sessions(FilterQuery::of(self.pairs()))
    }

    fn pairs(&self) -> Vec<(String, String)> {
        let own = |(name, text): &(&'static str, String)| {
            let text = match *name {
                "from" | "to" => zoned(text),
                _ => text.clone(),
            };
            ((*name).to_owned(), text)
        };
        self.parts.iter().map(own).collect()
    }
}

/// What a browser's field for a time gives, `2026-01-31T12:00` with or without seconds, in UTC.
pub(crate) fn zoned(text: &str) -> String {
    match text.len() {
        16 if text.as_bytes().get(10) == Some(&b'T') => format!("{text}:00Z"),
        19 if text.as_bytes().get(10) == Some(&b'T') => format!("{text}Z"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> ListQuery {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        ListQuery::read(Query(pairs.iter().map(own).collect()))
    }

    #[test]
    fn what_is_empty_or_unknown_is_no_part_of_a_filter() {
        let query = query(&[("text", " a&b "), ("user_id", ""), ("saved", "1")]);
        assert_eq!(query.address("/ui/records"), "/ui/records?text=a%26b");
        assert_eq!(
            query.with("text", None).address("/ui/records"),
            "/ui/records"
        );
        assert_eq!(query.records().unwrap().text.as_deref(), Some("a&b"));
    }

    #[test]
    fn a_time_of_a_browsers_field_is_utc() {
        let filter = query(&[("from", "1970-01-01T00:01"), ("to", "1970-01-01T00:01:01")]);
        let filter = filter.records().unwrap();
        assert_eq!((filter.from_ms, filter.to_ms), (Some(60_000), Some(61_000)));
        assert!(query(&[("from", "soon")]).records().is_err());
    }
}

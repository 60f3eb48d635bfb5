//! The filter in a page's address. Its names are those of the API's list, whose reader reads it; an
//! application may also be given by its name, and a time without its zone, which is UTC.

use crate::analysis::api::extract::query::Query as FilterQuery;
use crate::analysis::api::records::filters;
use crate::analysis::ui::names;
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::{ApiError, Caller, Services};
use axum::extract::Query;
use monitor_store::{RecordFilter, SessionFilter};

/// What a filter consists of.
const NAMES: [&str; 11] = [
    "text",
    "verdict",
    "application_id",
    "user_id",
    "session_id",
    "stage",
    "type",
    "from",
    "to",
    "before",
    "limit",
];

/// The pairs of a page's address.
pub(in crate::analysis::ui) type Pairs = Query<Vec<(String, String)>>;

/// How many records earlier pages of a search have looked at; no part of the filter.
const LOOKED: &str = "looked";

/// A filter as it was typed, without what was left empty.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis::ui) struct Asked {
    parts: Vec<(&'static str, String)>,
    looked: u64,
}

impl Asked {
    /// What is no part of a filter is left out.
    pub(in crate::analysis::ui) fn read(Query(pairs): Pairs) -> Self {
        let known = |(name, text): (String, String)| {
            let name = NAMES.into_iter().find(|known| *known == name)?;
            let text = text.trim();
            (!text.is_empty()).then(|| (name, text.to_owned()))
        };
        let looked = pairs.iter().find(|(name, _)| name == LOOKED);
        Self {
            looked: looked.and_then(|(_, text)| text.parse().ok()).unwrap_or(0),
            parts: pairs.into_iter().filter_map(known).collect(),
        }
    }

    /// A part's text; empty where it is missing.
    pub(in crate::analysis::ui) fn text(&self, name: &str) -> &str {
        let found = self.parts.iter().find(|(given, _)| *given == name);
        found.map_or("", |(_, text)| text)
    }

    /// Whether any of these parts is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        names.iter().any(|name| !self.text(name).is_empty())
    }

    /// The same with one part of another value, or without it.
    pub(super) fn with(&self, name: &'static str, text: Option<&str>) -> Self {
        let mut parts = self.parts.clone();
        parts.retain(|(given, _)| *given != name);
        parts.extend(text.map(|text| (name, text.to_owned())));
        Self {
            parts,
            looked: self.looked,
        }
    }

    /// Records that earlier pages of this search have looked at.
    pub(super) fn looked(&self) -> u64 {
        self.looked
    }

    /// The address of a search that goes on before a place, after so many records were looked at.
    pub(super) fn search_on(&self, path: &str, (before, looked): (i64, u64)) -> String {
        let before = self.with("before", Some(&before.to_string()));
        format!("{}&{LOOKED}={looked}", before.address(path))
    }

    /// The filter as it stands in an address, behind its `?`.
    pub(super) fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.parts);
        query.finish()
    }

    /// An address with this filter.
    pub(super) fn address(&self, path: &str) -> String {
        match self.query() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }

    /// The same with the application's identifier in place of its name.
    pub(in crate::analysis::ui) async fn resolved(
        &self,
        services: &Services,
        caller: &Caller,
        r: &RecordPhrases,
    ) -> Result<Self, ApiError> {
        let named = self.text("application_id");
        if named.is_empty() {
            return Ok(self.clone());
        }
        let id = names::meant(services, caller, named, r).await?;
        Ok(self.with("application_id", Some(&id.to_string())))
    }

    /// The filter of a list of records.
    pub(super) fn records(&self) -> Result<RecordFilter, ApiError> {
        filters::records(FilterQuery::of(self.pairs()))
    }

    /// The filter of a list of sessions.
    pub(super) fn sessions(&self) -> Result<SessionFilter, ApiError> {
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
fn zoned(text: &str) -> String {
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

    fn asked(pairs: &[(&str, &str)]) -> Asked {
        let own = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Asked::read(Query(pairs.iter().map(own).collect()))
    }

    #[test]
    fn what_is_empty_or_unknown_is_no_part_of_a_filter() {
        let asked = asked(&[("text", " a&b "), ("user_id", ""), ("saved", "1")]);
        assert_eq!(asked.address("/ui/records"), "/ui/records?text=a%26b");
        assert_eq!(
            asked.with("text", None).address("/ui/records"),
            "/ui/records"
        );
        assert_eq!(asked.records().unwrap().text.as_deref(), Some("a&b"));
    }

    #[test]
    fn a_time_of_a_browsers_field_is_utc() {
        let filter = asked(&[("from", "1970-01-01T00:01"), ("to", "1970-01-01T00:01:01")]);
        let filter = filter.records().unwrap();
        assert_eq!((filter.from_ms, filter.to_ms), (Some(60_000), Some(61_000)));
        assert!(asked(&[("from", "soon")]).records().is_err());
    }
}

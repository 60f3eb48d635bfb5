//! The filter in the address of the page of findings. Its parts are those of the API and are read by the same code.

use crate::analysis::api::extract::query::Query as FilterQuery;
use crate::analysis::api::records::finding_filters;
use crate::analysis::records::findings::FindingQuery;
use crate::analysis::ui::application_names;
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::request::list_query::{Pairs, zoned};
use crate::analysis::{ApiError, Caller, Services};

/// The page of the list.
pub(super) const PATH: &str = "/ui/findings";
/// The parts of a filter. `each` shows findings that are alike one by one.
const PARTS: [&str; 11] = [
    "state",
    "application_id",
    "user_id",
    "assignee",
    "unassigned",
    "type",
    "from",
    "to",
    "cluster",
    "each",
    "before",
];

/// A filter as it was typed, without its empty parts.
#[derive(Clone, Debug, Default)]
pub(super) struct ListParts(Vec<(&'static str, String)>);

impl ListParts {
    pub(super) fn read(pairs: Pairs) -> Self {
        Self::of(pairs.0)
    }

    /// Out of the query string that [`ListParts::query`] made.
    pub(super) fn of_text(text: &str) -> Self {
        let pairs = url::form_urlencoded::parse(text.as_bytes());
        Self::of(pairs.into_owned().collect())
    }

    fn of(pairs: Vec<(String, String)>) -> Self {
        let known = |(name, text): (String, String)| {
            let name = PARTS.into_iter().find(|known| *known == name)?;
            let text = text.trim();
            (!text.is_empty()).then(|| (name, text.to_owned()))
        };
        Self(pairs.into_iter().filter_map(known).collect())
    }

    /// A part's text; empty where it is missing.
    pub(super) fn text(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(given, _)| *given == name);
        found.map_or("", |(_, text)| text)
    }

    /// The same with one part of another value, or without it.
    pub(super) fn with(&self, name: &'static str, text: Option<&str>) -> Self {
        let mut parts = self.0.clone();
        parts.retain(|(given, _)| *given != name);
        parts.extend(text.map(|text| (name, text.to_owned())));
        Self(parts)
    }

    /// The filter as the query string of a URL.
    pub(super) fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.0);
        query.finish()
    }

    /// The address of the page with this filter.
    pub(super) fn address(&self) -> String {
        match self.query() {
            query if query.is_empty() => PATH.to_owned(),
            query => format!("{PATH}?{query}"),
        }
    }

    /// The same with the application's identifier in place of its name.
    pub(super) async fn resolved(
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

    /// As the filter of a list.
    pub(super) fn filter(&self) -> Result<FindingQuery, ApiError> {
        let own = |(name, text): &(&'static str, String)| {
            let text = match *name {
                "from" | "to" => zoned(text),
                _ => text.clone(),
            };
            ((*name).to_owned(), text)
        };
        let mut pairs: Vec<_> = self.0.iter().map(own).collect();
        pairs.retain(|(name, _)| name != "each");
        if !self.is_each() {
            pairs.push(("newest".to_owned(), "true".to_owned()));
        }
        finding_filters::findings(FilterQuery::of(pairs))
    }

    /// Whether findings that are alike are shown one by one.
    fn is_each(&self) -> bool {
        ["each", "to", "cluster"]
            .iter()
            .any(|name| !self.text(name).is_empty())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn alike_findings_are_one_row_unless_their_cluster_or_an_end_is_chosen() {
        let is_one = |text: &str| {
            let filter = ListParts::of_text(text).filter().unwrap();
            filter.filter.only_newest
        };
        assert!(is_one("") && is_one("state=all&user_id=a%26b"));
        for text in [
            "each=true",
            "to=2026-01-31T12:00",
            "cluster=00000000-0000-4000-8000-000000000000",
        ] {
            assert!(!is_one(text), "{text}");
        }
        let parts = ListParts::of_text("user_id=a%26b&nosuch=1&state=");
        assert_eq!(parts.address(), "/ui/findings?user_id=a%26b");
    }
}

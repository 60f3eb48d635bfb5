//! The routes of the analysis server as a metric names them: the template of an API path without prefix and
//! trailing slash, one name for all pages of the web UI, one for the documentation.

use super::routes::routes;
use axum::extract::{MatchedPath, Request};
use std::collections::HashMap;

const UI: &str = "/ui";
const DOCS: &str = "/docs";
const DOCUMENTS: [&str; 3] = [DOCS, "/redoc", "/openapi.json"];
/// Paths that there are not.
const OTHER: &str = "other";

/// A route's name by the template that the router matched.
pub struct RouteNames(HashMap<String, &'static str>);

impl RouteNames {
    /// Those of the whole server.
    pub fn new() -> Self {
        let paths = routes().into_iter().map(|(path, _)| path);
        let spelled = |path: &'static str| {
            let spellings = [
                path.to_owned(),
                format!("{path}/"),
                format!("/api{path}"),
                format!("/api{path}/"),
            ];
            spellings.map(|spelling| (spelling, path))
        };
        Self(paths.flat_map(spelled).collect())
    }

    /// Every name, some of them repeatedly.
    pub fn all(&self) -> impl Iterator<Item = &'static str> {
        self.0.values().copied().chain([UI, DOCS, OTHER])
    }

    /// The name of a request's route.
    pub fn of(&self, request: &Request) -> &'static str {
        let matched = request.extensions().get::<MatchedPath>();
        let Some(matched) = matched.map(MatchedPath::as_str) else {
            return OTHER;
        };
        let known = self.0.get(matched).copied();
        known.unwrap_or_else(
            || match DOCUMENTS.iter().any(|it| matched.starts_with(it)) {
                true => DOCS,
                false => UI,
            },
        )
    }
}

impl Default for RouteNames {
    fn default() -> Self {
        Self::new()
    }
}

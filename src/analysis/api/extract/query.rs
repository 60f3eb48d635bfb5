//! The query of a list: named parameters, each at most once. Unknown ones are refused, since a misspelled
//! filter would otherwise show everything.

use crate::analysis::{ApiError, FieldProblem};
use axum::extract::{FromRequestParts, Query as Pairs};
use axum::http::request::Parts;

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;

/// Parameters that are taken one by one; those left at the end are unknown.
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl Query {
    /// The query with these names and values.
    pub(crate) fn of(pairs: Vec<(String, String)>) -> Self {
        Self {
            pairs,
            known: Vec::new(),
        }
    }

    /// Takes a parameter as text.
    pub(crate) fn take(&mut self, name: &'static str) -> Result<Option<String>, ApiError> {
        self.known.push(name);
        let mut values = self.pairs.extract_if(.., |(given, _)| given == name);
        let (first, second) = (values.next(), values.next());
        match second {
            None => Ok(first.map(|(_, value)| value)),
            Some(_) => Err(FieldProblem::new(name, "is repeated").into()),
        }
    }

    /// Takes a parameter that `read` converts; a value that it cannot convert is refused with `problem`.
    pub(crate) fn typed<T>(
        &mut self,
        name: &'static str,
        problem: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(text) = self.take(name)? else {
            return Ok(None);
        };
        let value = read(&text).ok_or_else(|| FieldProblem::new(name, problem))?;
        Ok(Some(value))
    }

    /// The page size.
    pub(crate) fn limit(&mut self) -> Result<u32, ApiError> {
        Ok(self.limit_up_to(MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT))
    }

    /// Like [`Query::limit`], for a list with limits of its own.
    pub(crate) fn limit_up_to(&mut self, most: u32) -> Result<Option<u32>, ApiError> {
        let problem = format!("must be an integer from 1 to {most}");
        self.typed("limit", &problem, |text| {
            let number = text.parse().ok();
            number.filter(|limit| (1..=most).contains(limit))
        })
    }

    /// Refuses parameters that were not taken.
    pub(crate) fn finish(self) -> Result<(), ApiError> {
        if self.pairs.is_empty() {
            return Ok(());
        }
        let problem = match self.known.as_slice() {
            [] => "takes no parameters".to_owned(),
            known => format!("takes {} only", known.join(", ")),
        };
        Err(FieldProblem::new("query", problem).into())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Pairs::from_request_parts(parts, state).await {
            Ok(Pairs(pairs)) => Ok(Self::of(pairs)),
            Err(_) => Err(FieldProblem::new("query", "is not a list of name=value pairs").into()),
        }
    }
}

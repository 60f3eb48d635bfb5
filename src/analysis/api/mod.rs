//! The analysis API over HTTP (§4.3, CONTRACT 27): a table of routes, extractors, handlers, and how answers and
//! errors look. What is behind the paths is [`super::Services`].

mod admin;
pub(super) mod extract;
mod ingest;
pub(super) mod openapi;
pub(super) mod records;
mod refusals;
mod response;
pub(super) mod route_names;
pub(super) mod router;
mod routes;
mod schemas;
#[cfg(test)]
mod tests;

pub use admin::tokens::token_json;

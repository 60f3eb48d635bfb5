//! What handlers take out of a request: the caller, the path, the query, the fields of the body, the version.

pub(super) mod bearer;
pub(crate) mod body;
mod callers;
mod escapes;
mod fields;
mod path;
pub(crate) mod query;
pub(super) mod read_ahead;
pub(super) mod version;
mod versioned;

pub(super) use callers::{
    Admin, Administrator, FindingReader, Ingester, Reader, RecordReader, SettingsReader, Triager,
    VerdictReader, count_for,
};
pub(super) use fields::Fields;
pub(super) use path::{PathId, PathIds};
pub(super) use query::Query;
pub(super) use versioned::{Body, NoFields, OptionalBody, ReadFields, Versioned};

use crate::analysis::Services;
use axum::extract::State;
use std::sync::Arc;

/// The services, as handlers get them.
pub(super) type Api = State<Arc<Services>>;

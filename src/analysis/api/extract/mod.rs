//! What handlers take out of a request: the caller, the path, the query, the fields of the body, the version.

pub(super) mod bearer;
pub(super) mod body;
pub(super) mod callers;
pub(super) mod fields;
pub(super) mod paced_body;
pub(super) mod path;
pub(super) mod query;
pub(super) mod version;

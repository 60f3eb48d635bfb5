//! People: their accounts, how they are signed in, and the filters that they saved.

pub(crate) mod accounts;
pub(crate) mod saved_filters;
pub(crate) mod sign_in_failures;
pub(crate) mod sign_ins;

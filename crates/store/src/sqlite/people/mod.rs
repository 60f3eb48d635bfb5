//! People who use the web UI: accounts, sign-ins and saved filters.

mod accounts;
mod saved_filters;
mod sign_in_failures;
mod sign_ins;

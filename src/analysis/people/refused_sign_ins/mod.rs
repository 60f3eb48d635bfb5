//! Refused sign-ins in the audit log: each entry has a reason of a closed list, and a minute has no more of them
//! than `entry_limit` allows, however many attempts there are. Further refusals are counted and summarized in
//! one entry once a minute and at shutdown. Each process counts for itself.
//!
//! - No entry repeats what a browser or a provider sent. A name or an address is in it only once a verified
//!   token contains it or an account has it.
//! - Nobody waits for an entry: the duration of a refusal reveals nothing about the account.
//!
//! `sign_in_limits` slows down guessing; `sign_ins` and `oidc_accounts` decide who gets in.

mod entry_limit;
mod reason;
mod writer;

pub(crate) use reason::Reason;
pub(crate) use writer::{RefusedSignIn, RefusedSignIns};

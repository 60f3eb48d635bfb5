//! The web UI (§1.7): in a real browser what people see and do, over plain HTTP what they must not be
//! able to do. `run.sh` names the browser; without it the tests that need one say that they are
//! skipped. Pages in both themes are left in `target/screenshots`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "ops/line.rs"]
mod line;

// What other stores are tested by is not needed here.
#[allow(dead_code)]
#[path = "store/bed.rs"]
mod bed;

#[path = "ui/accounts.rs"]
mod accounts;
#[path = "ui/applications.rs"]
mod applications;
#[path = "ui/attacks.rs"]
mod attacks;
#[path = "ui/audit.rs"]
mod audit;
#[path = "ui/behind_proxy.rs"]
mod behind_proxy;
#[path = "ui/browser.rs"]
mod browser;
#[path = "ui/comfort.rs"]
mod comfort;
#[path = "ui/defence.rs"]
mod defence;
#[path = "ui/first_steps.rs"]
mod first_steps;
#[path = "ui/limits.rs"]
mod limits;
#[path = "ui/looks.rs"]
mod looks;
#[path = "ui/many.rs"]
mod many;
#[path = "ui/narrow.rs"]
mod narrow;
#[path = "ui/oidc.rs"]
mod oidc;
#[path = "ui/overview.rs"]
mod overview;
#[path = "ui/provider_accounts.rs"]
mod provider_accounts;
#[path = "ui/records.rs"]
mod records;
#[path = "ui/refusals.rs"]
mod refusals;
#[path = "ui/russian.rs"]
mod russian;
#[path = "ui/saved.rs"]
mod saved;
#[path = "ui/searching.rs"]
mod searching;
#[path = "ui/sign_in.rs"]
mod sign_in;
#[path = "ui/tokens.rs"]
mod tokens;
#[path = "ui/transport.rs"]
mod transport;
#[path = "ui/verdicts.rs"]
mod verdicts;
#[path = "ui/visitor.rs"]
mod visitor;
#[path = "ui/world.rs"]
mod world;

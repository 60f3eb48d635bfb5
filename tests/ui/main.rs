//! The web UI (§1.7): in a real browser what people see and do, over plain HTTP what they must not be
//! able to do. Tests that need a browser are ignored unless they are asked for; `run.sh` installs and
//! names it. Pages in both themes are left in `target/screenshots`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounts;
mod agent;
mod agent_session;
mod alerts;
mod applications;
mod attacks;
mod audit;
mod behind_proxy;
mod blockers;
mod budgets;
mod by_value;
mod comfort;
mod costs;
mod defence;
mod demo_costs;
mod documentation;
mod embeddings;
mod erasing;
mod exchanges;
mod explaining;
mod findings;
mod first_steps;
mod further_patterns;
mod kept_forms;
mod limits;
mod looks;
mod many;
mod narrow;
mod oidc;
mod originals;
mod overview;
mod people;
mod presets;
mod provider_accounts;
mod record_protection;
mod records;
mod refusals;
mod russian;
mod saved;
mod searching;
mod siem;
mod sign_in;
mod status;
mod tokens;
mod tool_arguments;
mod tool_parts;
mod transport;
mod unchecked;
mod verdicts;
mod whole_exchanges;
mod world;

use support::browser;

//! Configuration and command line through the real binary (§8, CONTRACT 32 to 34): what is refused
//! and how it is reported, which source wins, and that the reference files and the documentation are complete.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "config/cli.rs"]
mod cli;
#[path = "config/docs.rs"]
mod docs;
#[path = "config/files.rs"]
mod files;
#[path = "config/judge.rs"]
mod judge;
#[path = "config/models.rs"]
mod models;
#[path = "config/pages.rs"]
mod pages;
#[path = "config/policies.rs"]
mod policies;
#[path = "config/problems.rs"]
mod problems;
#[path = "config/reference.rs"]
mod reference;
#[path = "config/reference_yaml.rs"]
mod reference_yaml;
#[path = "config/sign_in.rs"]
mod sign_in;
#[path = "config/sources.rs"]
mod sources;
#[path = "config/store.rs"]
mod store;
#[path = "config/world.rs"]
mod world;

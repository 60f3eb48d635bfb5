//! Operations through the real binary (CONTRACT 35): upgrade, reload, stop, what systemd is told.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "ops/crowd.rs"]
mod crowd;
#[path = "ops/line.rs"]
mod line;
#[path = "ops/memory.rs"]
mod memory;
#[path = "ops/reload.rs"]
mod reload;
#[path = "ops/shipped.rs"]
mod shipped;
#[path = "ops/systemd.rs"]
mod systemd;
#[path = "ops/upgrade.rs"]
mod upgrade;

//! Operations through the real binary (CONTRACT 35): upgrade, reload, stop, what systemd is told.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "ops/access.rs"]
mod access;
#[path = "ops/collectors.rs"]
mod collectors;
#[path = "ops/commands.rs"]
mod commands;
#[path = "ops/crowd.rs"]
mod crowd;
#[path = "ops/documented.rs"]
mod documented;
#[path = "ops/line.rs"]
mod line;
#[path = "ops/memory.rs"]
mod memory;
#[path = "ops/reload.rs"]
mod reload;
#[path = "ops/secrets.rs"]
mod secrets;
#[path = "ops/secrets_world.rs"]
mod secrets_world;
#[path = "ops/shipped.rs"]
mod shipped;
#[path = "ops/successor.rs"]
mod successor;
#[path = "ops/systemd.rs"]
mod systemd;
#[path = "ops/tls.rs"]
mod tls;
#[path = "ops/tls_spoken.rs"]
mod tls_spoken;
#[path = "ops/traces.rs"]
mod traces;
#[path = "ops/upgrade.rs"]
mod upgrade;
#[path = "ops/upgrade_http2.rs"]
mod upgrade_http2;

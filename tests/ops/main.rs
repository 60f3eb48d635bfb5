//! Operations through the real binary (CONTRACT 35): upgrade, reload, stop, what systemd is told.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod alerts;
mod analysis_metrics;
mod collectors;
mod commands;
mod config;
mod crowd;
mod documented;
mod health;
mod log_bytes;
mod memory;
mod packages;
mod reload;
mod secrets;
mod secrets_world;
mod series;
mod shipped;
mod successor;
mod systemd;
mod tls;
mod tls_spoken;
mod traces;
mod upgrade;
mod upgrade_http2;
mod web_address;

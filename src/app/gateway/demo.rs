//! The demo model server: alone, and as the upstream of `monitor all` without UPSTREAM_URL.

use crate::app::process::runtime::backend_runtime;
use crate::config::{BaseUrl, Settings};
use crate::demo;
use anyhow::{Context, Result};
use log::warn;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::runtime::Runtime;

/// The demo model server alone, until it is interrupted.
///
/// # Errors
/// When the address is taken.
pub fn run_demo_upstream(address: SocketAddr) -> Result<()> {
    let runtime = backend_runtime()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        println!("demo model server at http://{}", listener.local_addr()?);
        let stop = async {
            let _ = tokio::signal::ctrl_c().await;
        };
        Ok(axum::serve(listener, demo::router())
            .with_graceful_shutdown(stop)
            .await?)
    })
}

/// Starts the demo model where no upstream is configured; whether it did.
pub(crate) fn use_demo_if_unset(settings: &mut Settings, runtime: &Runtime) -> Result<bool> {
    let upstream = &mut settings.gateway.upstream.url;
    let is_missing = upstream.is_none();
    if is_missing {
        warn!("UPSTREAM_URL is not set: using the built-in demo model");
        *upstream = Some(start_demo(runtime)?);
    }
    Ok(is_missing)
}

fn start_demo(runtime: &Runtime) -> Result<BaseUrl> {
    let listener = runtime.block_on(tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let address = listener.local_addr()?;
    runtime.spawn(async move { axum::serve(listener, demo::router()).await });
    let host = address.ip().to_string();
    Ok(BaseUrl {
        tls: false,
        host,
        port: address.port(),
        prefix: String::new(),
    })
}

//! Checks the health of the model servers at an interval, where there is more than one. The results of calls
//! count as well (see [`super::health`]).

use super::server::ModelServer;
use crate::config::HealthSettings;
use crate::gateway::headers::{self, UpstreamHead};
use crate::gateway::state::GatewayState;
use bytes::Bytes;
use futures_util::future::join_all;
use pingora_core::Result;
use pingora_core::server::ShutdownWatch;
use pingora_http::RequestHeader;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// The longest time until a reloaded interval is in force.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// Checks the model servers in force until the shutdown signal; none where there is only one.
pub(crate) async fn run(state: &GatewayState, mut shutdown: ShutdownWatch) {
    let checking = async {
        let mut last: Option<Instant> = None;
        loop {
            let snapshot = state.snapshot();
            let settings = &snapshot.settings.upstream.health;
            if last.is_none_or(|last| last.elapsed() >= settings.interval) {
                last = Some(Instant::now());
                let servers = snapshot.upstream.checked();
                join_all(servers.iter().map(|server| check(server, settings))).await;
            }
            let wait = settings.interval.min(LONGEST_SLEEP);
            drop(snapshot);
            sleep(wait).await;
        }
    };
    tokio::select! {
        biased;
        _ = shutdown.wait_for(|ends| *ends) => {}
        () = checking => {}
    }
}

async fn check(server: &ModelServer, settings: &HealthSettings) {
    let checking = async {
        match &settings.path {
            None => accepts_connections(server).await,
            Some(path) => answers(server, path, settings.timeout)
                .await
                .unwrap_or(false),
        }
    };
    let works = timeout(settings.timeout, checking).await.unwrap_or(false);
    server.report(works, settings);
}

async fn accepts_connections(server: &ModelServer) -> bool {
    let base = server.resolver.base();
    TcpStream::connect((base.host.as_str(), base.port))
        .await
        .is_ok()
}

/// Whether GET of the path, without credentials, is answered with 2xx.
async fn answers(server: &ModelServer, path: &str, limit: Duration) -> Result<bool> {
    let Ok(peer) = server.resolver.peer(0).await else {
        return Ok(false);
    };
    let request = RequestHeader::build("GET", path.as_bytes(), None)?;
    let id = headers::request_id(&request.headers);
    let head = UpstreamHead::new(&request, server.resolver.target(), &id, None)?;
    let head = server.connections.wire_head(&head)?;
    let mut upstream = server.connections.get(&peer).await?.session;
    let written = upstream.write(head, &Bytes::new(), limit).await;
    written.map_err(|failure| failure.error)?;
    upstream.read_final_head().await?;
    let status = upstream.header().map(|head| head.status);
    Ok(status.is_some_and(|status| status.is_success()))
}

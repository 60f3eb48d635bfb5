//! Checks the health of the model servers at an interval, where there is more than one. The results of calls
//! count as well (see [`super::health`]).

use super::server::ModelServer;
use crate::config::HealthSettings;
use crate::gateway::headers;
use crate::gateway::state::GatewayState;
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
            Some(path) => answers(server, path).await.unwrap_or(false),
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
async fn answers(server: &ModelServer, path: &str) -> Result<bool> {
    let Ok(peer) = server.resolver.peer(0).await else {
        return Ok(false);
    };
    let mut upstream = server.connections.get(&peer, 0).await?.session;
    let mut head = RequestHeader::build("GET", path.as_bytes(), None)?;
    let id = headers::request_id(&head.headers);
    headers::for_upstream(&mut head, server.resolver.base(), &id, None)?;
    upstream.write_request_header(Box::new(head)).await?;
    upstream.finish_request_body().await?;
    loop {
        upstream.read_response_header().await?;
        match upstream.response_header().map(|head| head.status) {
            Some(status) if status.is_informational() => {}
            status => return Ok(status.is_some_and(|status| status.is_success())),
        }
    }
}

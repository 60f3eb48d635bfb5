//! Checks the health of the model servers of each group at its interval, where it has more than one. The results of
//! calls count as well (see [`super::health`]).

use super::group::UpstreamGroup;
use super::groups::UpstreamGroups;
use super::server::ModelServer;
use crate::config::HealthSettings;
use crate::gateway::headers::{self, UpstreamHead};
use crate::gateway::state::GatewayState;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{BoxFuture, join_all};
use futures_util::stream::FuturesUnordered;
use pingora_core::Result;
use pingora_core::server::ShutdownWatch;
use pingora_http::RequestHeader;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// The longest time until a reloaded interval is in force.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// Checks the model servers in force until the shutdown signal; none of a group that has only one.
pub(crate) async fn run(state: &GatewayState, mut shutdown: ShutdownWatch) {
    let checking = async {
        let mut rounds = Rounds::default();
        loop {
            let wait = rounds.start_due(&state.snapshot().upstreams);
            tokio::select! {
                Some(group) = rounds.running.next() => rounds.end(&group),
                () = sleep(wait) => {}
            }
        }
    };
    tokio::select! {
        biased;
        _ = shutdown.wait_for(|ends| *ends) => {}
        () = checking => {}
    }
}

/// The rounds of checks, one of each group at a time: a group whose servers do not answer delays no other.
#[derive(Default)]
struct Rounds {
    /// By the name of the group.
    begun: HashMap<String, Round>,
    /// Those under way; each ends with the name of its group.
    running: FuturesUnordered<BoxFuture<'static, String>>,
}

struct Round {
    at: Instant,
    is_running: bool,
}

impl Rounds {
    /// Starts the rounds that are due, and returns how long to wait for the next ones.
    fn start_due(&mut self, groups: &UpstreamGroups) -> Duration {
        self.begun.retain(|name, round| {
            round.is_running || groups.all().any(|group| group.name() == name)
        });
        let mut wait = LONGEST_SLEEP;
        for group in groups.all().filter(|group| !group.checked().is_empty()) {
            let interval = group.health().interval;
            wait = wait.min(interval);
            let is_due = match self.begun.get(group.name()) {
                Some(round) => !round.is_running && round.at.elapsed() >= interval,
                None => true,
            };
            if is_due {
                let round = Round {
                    at: Instant::now(),
                    is_running: true,
                };
                self.begun.insert(group.name().to_owned(), round);
                self.running.push(Box::pin(check_all(group)));
            }
        }
        wait
    }

    fn end(&mut self, group: &str) {
        if let Some(round) = self.begun.get_mut(group) {
            round.is_running = false;
        }
    }
}

/// One round; gives the name of the group.
fn check_all(group: &UpstreamGroup) -> impl Future<Output = String> + use<> {
    let (name, health) = (group.name().to_owned(), group.health().clone());
    let servers = group.checked().to_vec();
    async move {
        join_all(servers.iter().map(|server| check(server, &health))).await;
        name
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

//! Role `bare`: the least a pingora proxy can be, the yardstick for the product. It names the
//! upstream and leaves every other phase at its default.

use anyhow::{Context, Result};
use async_trait::async_trait;
use pingora_core::server::Server;
use pingora_core::server::configuration::ServerConf;
use pingora_core::upstreams::peer::HttpPeer;
use pingora_proxy::{ProxyHttp, Session, http_proxy_service};
use std::net::SocketAddr;

struct Bare {
    upstream: SocketAddr,
}

#[async_trait]
impl ProxyHttp for Bare {
    type CTX = ();

    fn new_ctx(&self) -> Self::CTX {}

    async fn upstream_peer(
        &self,
        _session: &mut Session,
        _ctx: &mut Self::CTX,
    ) -> pingora_core::Result<Box<HttpPeer>> {
        Ok(Box::new(HttpPeer::new(self.upstream, false, String::new())))
    }
}

/// Serves `listen` from `upstream` until the process is ended.
pub(crate) fn run(listen: &str, upstream: &str) -> Result<()> {
    bench_support::process::end_with_parent();
    let upstream = upstream.parse().context("address of the upstream")?;
    let configuration = ServerConf {
        threads: 1,
        upstream_keepalive_pool_size: 4096,
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, configuration);
    server.bootstrap();
    let mut service = http_proxy_service(&server.configuration, Bare { upstream });
    service.add_tcp(listen);
    server.add_service(service);
    server.run_forever()
}

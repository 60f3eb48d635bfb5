//! The life of one process from its first accepted connection to its last: take the seat, say that
//! it is ready, wait for a signal or for the next process, finish what is under way.

use super::gateway::server_conf;
use super::http::UnderWay;
use super::launch::Seat;
use super::lifecycle::{Readiness, Signals, wait_for_the_last_call};
use super::outputs::Outputs;
use super::reload::{Parts, Reloads};
use super::upgrade::{Control, Upgrades};
use super::watchdog::Watchdog;
use super::{listeners, notify, spool};
use crate::config::Settings;
use crate::gateway::Room;
use crate::observe::Metrics;
use crate::observe::upgraded::{UpgradeEnded, UpgradeResult};
use anyhow::Result;
use log::warn;
use pingora_core::server::{RunArgs, Server};
use std::net::SocketAddr;
use std::sync::Arc;

/// What runs besides the listeners.
pub(super) struct Serving {
    pub(super) addresses: Vec<SocketAddr>,
    /// The operations listener.
    pub(super) operations: SocketAddr,
    pub(super) readiness: Arc<Readiness>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) parts: Parts,
    pub(super) seat: Seat,
    pub(super) reloads: Arc<Reloads>,
    pub(super) spool: Option<spool::Running>,
    /// None in a process without a gateway.
    pub(super) outputs: Option<Outputs>,
    pub(super) under_way: UnderWay,
    pub(super) text: String,
}

/// Starts the server, says so, and comes back when the last call is answered and delivered.
pub(super) fn run_server(
    settings: &Settings,
    serving: Serving,
    add: impl FnOnce(&mut Server),
) -> Result<()> {
    let mut server = Server::new_with_opt_and_conf(None, server_conf(settings));
    server.bootstrap();
    add(&mut server);
    let (seat, metrics) = (serving.seat, serving.metrics);
    let upgrades = Arc::new(Upgrades::new(seat.role, metrics.clone()));
    let (live, under_way) = (serving.parts.live.clone(), serving.under_way);
    serving.reloads.attach(serving.parts);
    let signals = Signals {
        readiness: serving.readiness.clone(),
        min_drain: settings.gateway.shutdown.min_drain,
        live: live.clone(),
        under_way: under_way.clone(),
        upgrades: upgrades.clone(),
        reloads: serving.reloads.clone(),
        sockets: seat.sockets.clone(),
    };
    let run = move || {
        server.run(RunArgs {
            shutdown_signal: Box::new(signals),
        })
    };
    let running = std::thread::Builder::new()
        .name("server".into())
        .spawn(run)?;
    listeners::wait_until_open(&serving.addresses, || running.is_finished())?;
    if let Some(predecessor) = seat.predecessor {
        predecessor.ready()?;
        let result = UpgradeResult::Done;
        UpgradeEnded { result }.emit(&metrics);
    }
    seat.sockets.forget_the_rest();
    let control = Control {
        upgrades: upgrades.clone(),
        reloads: serving.reloads,
        sockets: seat.sockets,
    };
    if let Err(error) = control.open(&seat.control) {
        warn!("this process takes no orders, neither upgrade nor reload by command: {error:#}");
    }
    serving.readiness.ready();
    println!("{}", serving.text);
    notify::ready();
    let clients = live.as_ref().map(|live| live.room().clone());
    let rooms: Vec<Arc<Room>> = clients
        .into_iter()
        .chain([under_way.room().clone()])
        .collect();
    let watchdog = Watchdog::start(serving.operations, rooms.clone());
    let expected = || rooms.iter().map(|room| room.expected()).sum::<i64>();
    let in_flight = || {
        let calls = metrics.in_flight() + under_way.count() + upgrades.orders();
        // Who is connected may bring one more request, where that can still be served in peace.
        calls + i64::from(upgrades.is_handed_over()) * expected()
    };
    let grace = settings.gateway.shutdown.grace;
    wait_for_the_last_call(&running, &serving.readiness, grace, in_flight);
    drop(watchdog);
    if let Some(spool) = serving.spool {
        spool.stop(|| serving.readiness.is_interrupted());
    }
    if let Some(outputs) = serving.outputs {
        outputs.stop(serving.readiness.is_interrupted());
    }
    Ok(())
}

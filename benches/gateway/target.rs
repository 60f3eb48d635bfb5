//! What is measured: the bare proxy, the gateway without telemetry, and gateway, analysis and
//! store in one process.

use super::api::look_for_patterns;
use super::metrics::Metrics;
pub(crate) use super::metrics::Records;
use anyhow::{Context, Result, bail};
use bench_support::load::ACCESS_KEY;
use bench_support::process::{Cpu, Folder, Launch, Process, free_addresses};
use bench_support::world::World;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the analysis may take to work off what the load left behind.
const SETTLE_PATIENCE: Duration = Duration::from_secs(120);
/// How often a target is started before a taken port is an error.
const START_TRIES: usize = 5;
const POLL: Duration = Duration::from_millis(200);

/// One row of processes to compare; also the index of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A pingora pass-through that does nothing else.
    Bare,
    /// `monitor gateway` without MONITOR_URL: no telemetry.
    Gateway,
    /// `monitor all`: every call analyzed and stored, in process and asynchronously.
    All,
    /// nginx with the settings for streams of docs/networks.md and one process.
    Nginx,
    /// HAProxy with one thread.
    HaProxy,
    /// `monitor all` in sync mode: every prompt awaited, in process.
    SyncAll,
    /// `monitor all` in sync mode that holds streams back: every prompt awaited, every stream checked.
    HoldBack,
    /// `monitor gateway` in sync mode: every prompt awaited, from a backend over HTTP.
    SyncHttp,
    /// `monitor gateway` with telemetry to a backend over HTTP, one record a call.
    Spool,
    /// The same to a backend that takes batches.
    SpoolBatch,
    /// The same with an encrypted spool.
    SpoolEncrypted,
}

/// The application of sync mode.
const APPLICATION: &str = "6f1c2d4e-8a90-4b1c-9d2e-3f4a5b6c7d8e";

impl Target {
    /// Those with a column of their own, in the order they take turns.
    pub(crate) const ALL: [Self; 5] = [
        Self::Bare,
        Self::Gateway,
        Self::All,
        Self::Nginx,
        Self::HaProxy,
    ];

    /// Whether the program is there; ours always is.
    pub(crate) fn is_installed(self) -> bool {
        self.foreign()
            .is_none_or(|program| Path::new(program).exists())
    }

    /// The program, where it is none of ours.
    fn foreign(self) -> Option<&'static str> {
        match self {
            Self::Nginx => Some("/usr/sbin/nginx"),
            Self::HaProxy => Some("/usr/sbin/haproxy"),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Gateway => "gateway",
            Self::All => "all",
            Self::Nginx => "nginx",
            Self::HaProxy => "haproxy",
            Self::SyncAll => "sync-all",
            Self::HoldBack => "hold-back",
            Self::SyncHttp => "sync-http",
            Self::Spool => "spool",
            Self::SpoolBatch => "spool-batch",
            Self::SpoolEncrypted => "spool-encrypted",
        }
    }

    /// The product's command, which is also what has a store or has none.
    fn command(self) -> &'static str {
        match self {
            Self::All | Self::SyncAll | Self::HoldBack => "all",
            _ => "gateway",
        }
    }
}

/// A started target.
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
    operations: Option<SocketAddr>,
    folder: Folder,
}

/// What callgrind counts is in this file of a target's folder.
const COUNTS: &str = "counts";

impl Running {
    /// Starts `target` on free ports and waits until it listens; on others, a few times, when somebody
    /// else takes one in the meantime.
    pub(crate) fn start(target: Target, world: &World) -> Result<Self> {
        Self::start_under(target, world, false)
    }

    /// The same under callgrind; its instructions are counted once it is interrupted.
    pub(crate) fn counted(target: Target, world: &World) -> Result<Self> {
        Self::start_under(target, world, true)
    }

    /// What was counted.
    pub(crate) fn counts(&self) -> PathBuf {
        self.folder.path().join(COUNTS)
    }

    fn start_under(target: Target, world: &World, is_counted: bool) -> Result<Self> {
        for _ in 1..START_TRIES {
            match Self::try_start(target, world, is_counted) {
                Err(error) if format!("{error:#}").contains("cannot listen") => {}
                started => return started,
            }
        }
        Self::try_start(target, world, is_counted)
    }

    fn try_start(target: Target, world: &World, is_counted: bool) -> Result<Self> {
        let folder = Folder::create(target.name())?;
        let [address, operations, analysis] = free_addresses()?;
        let called = match target {
            Target::Bare => bare(address, world),
            Target::Nginx => nginx(address, world, folder.path())?,
            Target::HaProxy => haproxy(address, world, folder.path())?,
            _ => product(target, folder.path())?,
        };
        let (program, arguments) = match is_counted {
            true => under_callgrind(&called.0, called.1, folder.path()),
            false => called,
        };
        let mut environment = vec![
            ("UPSTREAM_URL", format!("http://{}", world.mock)),
            ("GATEWAY_LISTEN", address.to_string()),
            ("OPERATIONS_LISTEN", operations.to_string()),
            ("ANALYSIS_LISTEN", analysis.to_string()),
            (
                "MONITOR_DATA_DIR",
                folder.path().join("data").to_string_lossy().into_owned(),
            ),
        ];
        environment.extend(monitoring(target, world));
        let launch = Launch {
            name: target.name(),
            program: &program,
            arguments,
            environment,
            cpu: Cpu::Proxy,
        };
        let mut process = Process::start(launch, world.pinning, folder.path())?;
        process.wait_for(address)?;
        if target.command() == "all" {
            process.wait_for(analysis)?;
            look_for_patterns(analysis).context("setting the rules")?;
        }
        let without = [
            Target::Bare,
            Target::Gateway,
            Target::Nginx,
            Target::HaProxy,
        ];
        let has_backend = !without.contains(&target);
        let operations = has_backend.then_some(operations);
        Ok(Self {
            process,
            address,
            operations,
            folder,
        })
    }

    /// Waits until no record is on its way any more, so that the analysis of a run is counted
    /// within it, and returns the records so far. Zeros where there is no telemetry.
    pub(crate) fn settle(&self) -> Result<Records> {
        let Some(operations) = self.operations else {
            return Ok(Records::default());
        };
        let deadline = Instant::now() + SETTLE_PATIENCE;
        loop {
            let metrics = Metrics::read(operations)?;
            let records = metrics.records();
            // Each call leaves one record for its prompt and one for its answer.
            if records.made >= 2.0 * metrics.monitored_calls() {
                return Ok(records);
            }
            if Instant::now() > deadline {
                bail!(
                    "records are still on their way: {}",
                    self.process.last_words()
                );
            }
            std::thread::sleep(POLL);
        }
    }

    /// Its metrics; an error where it has none.
    pub(crate) fn metrics(&self) -> Result<Metrics> {
        Metrics::read(self.operations.context("a target without metrics")?)
    }
}

fn monitoring(target: Target, world: &World) -> Vec<(&'static str, String)> {
    let application = ("MONITOR_APPLICATION_ID", APPLICATION.to_owned());
    let url = |address: SocketAddr| ("MONITOR_URL", format!("http://{address}"));
    match target {
        Target::SyncAll | Target::HoldBack => vec![application],
        Target::SyncHttp => vec![application, url(world.backend)],
        Target::Spool => vec![url(world.backend)],
        Target::SpoolBatch | Target::SpoolEncrypted => vec![url(world.batches)],
        _ => Vec::new(),
    }
}

/// Names another build of the program to measure in place of the present one.
const PROGRAM: &str = "MONITOR_BENCH_PROGRAM";

fn bare(address: SocketAddr, world: &World) -> (PathBuf, Vec<String>) {
    let role = [
        "--role",
        "bare",
        &address.to_string(),
        &world.mock.to_string(),
    ];
    (world.bench.clone(), role.map(str::to_owned).to_vec())
}

/// One process, and nothing collected: a stream passes at once.
fn nginx(address: SocketAddr, world: &World, folder: &Path) -> Result<(PathBuf, Vec<String>)> {
    let path = folder.join("nginx.conf");
    let (mock, folder) = (world.mock, folder.display());
    let text = format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nerror_log stderr crit;\n\
         events {{ worker_connections 8192; }}\n\
         http {{\n  access_log off;\n  client_body_temp_path {folder}/body;\n  proxy_temp_path {folder}/proxy;\n  \
         fastcgi_temp_path {folder}/f;\n  uwsgi_temp_path {folder}/u;\n  scgi_temp_path {folder}/s;\n  \
         keepalive_requests 1000000000;\n  client_max_body_size 0;\n  client_body_buffer_size 2m;\n  \
         upstream mock {{ server {mock}; keepalive 4096; keepalive_requests 1000000000; }}\n  \
         server {{\n    listen {address};\n    location / {{\n      proxy_pass http://mock;\n      \
         proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n      proxy_buffering off;\n      \
         proxy_read_timeout 600s;\n    }}\n  }}\n}}\n"
    );
    std::fs::write(&path, text)?;
    let arguments = ["-c", &path.to_string_lossy(), "-p", &folder.to_string()];
    let program = Target::Nginx.foreign().context("its program")?;
    Ok((program.into(), arguments.map(str::to_owned).to_vec()))
}

fn haproxy(address: SocketAddr, world: &World, folder: &Path) -> Result<(PathBuf, Vec<String>)> {
    let path = folder.join("haproxy.cfg");
    let mock = world.mock;
    let text = format!(
        "global\n  nbthread 1\n  maxconn 8192\n\
         defaults\n  mode http\n  timeout connect 10s\n  timeout client 600s\n  timeout server 600s\n  \
         http-reuse always\n\
         frontend clients\n  bind {address}\n  default_backend mock\n\
         backend mock\n  server mock {mock}\n"
    );
    std::fs::write(&path, text)?;
    let arguments = ["-db", "-q", "-f", &path.to_string_lossy()];
    let program = Target::HaProxy.foreign().context("its program")?;
    Ok((program.into(), arguments.map(str::to_owned).to_vec()))
}

fn product(target: Target, folder: &Path) -> Result<(PathBuf, Vec<String>)> {
    let config = folder.join("monitor.yaml");
    let mut text = configuration(target);
    if target == Target::SpoolEncrypted {
        let key = key_file(folder)?;
        text.push_str(&format!(
            "spool: {{encryption: {{key_file: {}}}}}\n",
            key.display()
        ));
    }
    std::fs::write(&config, text)?;
    let arguments = [target.command(), "--config", &config.to_string_lossy()];
    Ok((
        std::env::var_os(PROGRAM)
            .map_or_else(|| env!("CARGO_BIN_EXE_monitor").into(), PathBuf::from),
        arguments.map(str::to_owned).to_vec(),
    ))
}

fn under_callgrind(
    program: &Path,
    arguments: Vec<String>,
    folder: &Path,
) -> (PathBuf, Vec<String>) {
    let counts = format!("--callgrind-out-file={}", folder.join(COUNTS).display());
    let program = program.to_string_lossy().into_owned();
    let before = ["--tool=callgrind".to_owned(), counts, program];
    (
        "valgrind".into(),
        before.into_iter().chain(arguments).collect(),
    )
}

/// A key for the spool's files, which nobody else may read.
fn key_file(folder: &Path) -> Result<PathBuf> {
    let path = folder.join("spool.key");
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all("0123456789abcdef".repeat(4).as_bytes())?;
    Ok(path)
}

/// One worker thread, no access line and no bound of connections from one address, as the bare proxy has; the rest is the
/// default.
fn configuration(target: Target) -> String {
    let mut text =
        "log: {level: warn}\nlimits: {threads: 1, client_connections: 4096}\n".to_owned();
    if target.command() == "all" {
        text.push_str(&format!("analysis: {{first_token: {ACCESS_KEY}}}\n"));
    }
    let streams = match target {
        Target::SyncAll | Target::SyncHttp => "off",
        Target::HoldBack => "hold_back",
        _ => return text,
    };
    text.push_str(&format!(
        "applications: [{{id: {APPLICATION}, name: bench, app_mode: sync, phrase: blocked, \
         stream_in_sync: {streams}}}]\n"
    ));
    text
}

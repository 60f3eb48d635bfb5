//! The real binary on free ports. A test names only what it varies; everything else is the
//! program's own default, and no setting is inherited from the environment of the test run.

use super::backend::Backend;
use super::fault::free_port;
use super::http::Response;
use super::process::Process;
use super::request::Request;
use super::upstream::Upstream;
use super::{KEY, PATIENCE};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A folder that vanishes with its last owner.
pub struct Folder(PathBuf);

impl Folder {
    /// A path where nothing is yet; the code under test makes the folder.
    pub fn unmade() -> Self {
        Self(std::env::temp_dir().join(format!("monitor-test-{}", uuid::Uuid::new_v4())))
    }

    /// A new empty folder.
    pub fn new() -> Arc<Self> {
        let folder = Self::unmade();
        std::fs::create_dir_all(folder.path()).unwrap();
        Arc::new(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it and gives its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Missing where the test never made it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What to start.
#[derive(Clone)]
pub struct Builder {
    command: &'static str,
    env: Vec<(String, String)>,
    yaml: String,
    folder: Arc<Folder>,
    listens_at: Option<u16>,
    first: Option<String>,
    analysis_at: Option<u16>,
}

impl Builder {
    fn new(command: &'static str) -> Self {
        Self {
            command,
            env: Vec::new(),
            yaml: String::new(),
            folder: Folder::new(),
            listens_at: None,
            first: None,
            analysis_at: None,
        }
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl Into<String>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Adds lines to the configuration file.
    pub fn yaml(mut self, lines: &str) -> Self {
        self.yaml += lines.trim_end();
        self.yaml += "\n";
        self
    }

    /// Calls that upstream.
    pub fn upstream(self, upstream: &Upstream) -> Self {
        self.env("UPSTREAM_URL", upstream.url())
    }

    /// Registers at that backend.
    pub fn monitor(self, backend: &Backend) -> Self {
        self.env("MONITOR_URL", backend.url())
    }

    /// Keeps its files in a folder that outlives this process.
    pub fn folder(mut self, folder: &Arc<Folder>) -> Self {
        self.folder = folder.clone();
        self
    }

    /// Leaves the listeners of the gateway, or of an analysis server alone, to the configuration file;
    /// one is this loopback port, in clear text.
    pub fn listening_by_yaml(mut self, port: u16) -> Self {
        self.listens_at = Some(port);
        self
    }

    /// Runs shell commands in the process before it becomes the binary, such as `ulimit -n 300`.
    pub fn under(mut self, commands: &str) -> Self {
        self.first = Some(commands.to_owned());
        self
    }

    /// Leaves the analysis listener to the configuration file; it is this loopback port.
    pub fn analysis_by_yaml(mut self, port: u16) -> Self {
        self.analysis_at = Some(port);
        self
    }

    /// Starts it and waits until every listener answers.
    #[track_caller]
    pub fn start(self) -> Stack {
        (0..5)
            .find_map(|_| self.try_start())
            .expect("free ports in five tries")
    }

    /// Like [`Builder::start`]; None when a port was taken in the meantime.
    #[track_caller]
    pub fn try_start(&self) -> Option<Stack> {
        match self.attempt() {
            Ok(stack) => Some(stack),
            Err(stderr) if stderr.contains("cannot listen") => None,
            Err(stderr) => panic!("the binary ended instead of serving:\n{stderr}"),
        }
    }

    /// One start.
    ///
    /// # Errors
    /// The stderr of a process that ended instead of serving.
    #[track_caller]
    pub fn attempt(&self) -> Result<Stack, String> {
        let mut stack = self.launch();
        stack.await_ready().map(|()| stack)
    }

    /// Starts something that must refuse to start; gives its exit status and its stderr.
    #[track_caller]
    pub fn refused(self) -> (ExitStatus, String) {
        let mut stack = self.launch();
        let (status, _) = stack.process.await_exit();
        (status, stack.process.stderr())
    }

    fn launch(&self) -> Stack {
        let local = |port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let is_analysis = self.command == "analysis";
        let by_yaml = |applies: bool| self.listens_at.filter(|_| applies);
        let gateway_addr = local(by_yaml(!is_analysis).unwrap_or_else(free_port));
        let analysis_at = self.analysis_at.or(by_yaml(is_analysis));
        let analysis_addr = local(analysis_at.unwrap_or_else(free_port));
        let operations_addr = local(free_port());
        let binary = crate::monitor();
        let binary = binary.to_str().unwrap();
        let mut command = match &self.first {
            None => Command::new(binary),
            Some(first) => {
                let mut shell = Command::new("sh");
                shell.args(["-c", &format!("{first} && exec \"$0\" \"$@\""), binary]);
                shell
            }
        };
        command.arg(self.command).env_clear();
        // MUTANT_NUMBER: tests/campaign/mutants.py.
        for kept in ["PATH", "HOME", "LLVM_PROFILE_FILE", "MUTANT_NUMBER"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        if self.listens_at.is_none() && !is_analysis {
            command.env("GATEWAY_LISTEN", gateway_addr.to_string());
        }
        command
            .env("OPERATIONS_LISTEN", operations_addr.to_string())
            .env("MONITOR_DATA_DIR", self.folder.path().join("data"));
        if self.command != "gateway" && analysis_at.is_none() {
            command.env("ANALYSIS_LISTEN", analysis_addr.to_string());
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if !self.yaml.is_empty() {
            command
                .arg("--config")
                .arg(self.folder.write("monitor.yaml", &self.yaml));
        }
        Stack {
            process: Process::start(&mut command),
            gateway_addr,
            operations_addr,
            analysis_addr,
            serves_gateway: !is_analysis,
            serves_analysis: self.command != "gateway",
            folder: self.folder.clone(),
        }
    }
}

/// The running binary.
pub struct Stack {
    /// The process.
    pub process: Process,
    /// The gateway's listener.
    pub gateway_addr: SocketAddr,
    /// Metrics and health.
    pub operations_addr: SocketAddr,
    /// The analysis API.
    pub analysis_addr: SocketAddr,
    serves_gateway: bool,
    serves_analysis: bool,
    folder: Arc<Folder>,
}

impl Stack {
    /// `monitor gateway`.
    pub fn gateway() -> Builder {
        Builder::new("gateway")
    }

    /// `monitor analysis`, with [`KEY`] as its first access key.
    pub fn analysis_server() -> Builder {
        Builder::new("analysis").yaml(&format!("first_token: {KEY}"))
    }

    /// `monitor analysis` with nothing of the tests' own.
    pub fn analysis_bare() -> Builder {
        Builder::new("analysis")
    }

    /// `monitor all`, with [`KEY`] as its first access key and, unless the test names one, the
    /// built-in demo upstream. Lines that [`Builder::yaml`] adds indented first go on under `analysis:`.
    pub fn all() -> Builder {
        Builder::new("all").yaml(&format!("analysis:\n  first_token: {KEY}"))
    }

    /// `monitor all` that makes and prints its own first access key.
    pub fn all_with_printed_key() -> Builder {
        Builder::new("all")
    }

    /// A gateway without telemetry before that upstream.
    #[track_caller]
    pub fn before(upstream: &Upstream) -> Self {
        Self::gateway().upstream(upstream).start()
    }

    /// Sends a request to the gateway and reads the whole answer.
    #[track_caller]
    pub fn call(&self, request: &Request) -> Response {
        request.call(self.gateway_addr)
    }

    /// The configuration file, where the test wrote lines of one.
    pub fn configuration(&self) -> PathBuf {
        self.folder.path().join("monitor.yaml")
    }

    /// MONITOR_DATA_DIR.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Everything logged so far.
    pub fn stderr(&self) -> String {
        self.process.settled_stderr()
    }

    /// The id of the first application, as the analysis server prints it.
    #[track_caller]
    pub fn application_id(&self) -> String {
        let pattern = regex::Regex::new(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
        self.process
            .await_stdout("the first application's id", |text| {
                pattern.find(text).map(|found| found.as_str().to_owned())
            })
    }

    /// GET on the operations listener.
    #[track_caller]
    pub fn operations(&self, path: &str) -> Response {
        Request::get(path).without_key().call(self.operations_addr)
    }

    /// GET on the analysis API with an access key.
    #[track_caller]
    pub fn analysis(&self, path: &str, key: &str) -> Response {
        let bearer = format!("Bearer {key}");
        Request::get(path)
            .without_key()
            .header("Authorization", &bearer)
            .call(self.analysis_addr)
    }

    /// The text of `/metrics`.
    #[track_caller]
    pub fn metrics(&self) -> String {
        self.operations("/metrics").text()
    }

    /// The value of one series, written as `/metrics` writes it; 0 when it is absent.
    #[track_caller]
    pub fn metric(&self, series: &str) -> f64 {
        let text = self.metrics();
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.map_or(0.0, |number| number.trim().parse().unwrap())
    }

    /// Waits for readiness; the stderr of a process that ended instead.
    fn await_ready(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE * 2;
        while !self.is_ready() {
            if self.process.exited().is_some() {
                return Err(self.stderr());
            }
            assert!(
                Instant::now() < deadline,
                "not ready; stderr:\n{}",
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        let listens = |address: SocketAddr| TcpStream::connect(address).is_ok();
        listens(self.operations_addr)
            && Request::get("/readyz")
                .without_key()
                .try_status(self.operations_addr)
                == Some(200)
            && (!self.serves_gateway || listens(self.gateway_addr))
            && (!self.serves_analysis || listens(self.analysis_addr))
    }
}

impl Drop for Stack {
    /// A failing test shows what the binary logged.
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Its sockets close before its end can be seen.
            let stderr = self.stderr();
            let ended = self.process.exited();
            eprintln!("--- stderr of monitor ({ended:?}) ---\n{stderr}");
        }
    }
}

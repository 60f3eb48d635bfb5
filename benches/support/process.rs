//! Child processes: pinned to a CPU where that is possible, with all the descriptors the system
//! grants, an environment of ours alone, and ended by their own id when dropped.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a service may take until it accepts connections; under an emulator it starts fifty times slower.
const START_PATIENCE: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(20);

/// Where a process runs.
#[derive(Clone, Copy, Debug)]
pub enum Cpu {
    /// The proxy under measurement: CPU 0.
    Proxy,
    /// Everything that surrounds it: CPU 1.
    Surroundings,
}

/// Whether children can be pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinning {
    Pinned,
    Unpinned,
}

impl Pinning {
    /// Tries both CPUs, since a container may own others than 0 and 1.
    pub fn detect() -> Self {
        let works = |cpu: &str| {
            let tried = Command::new("taskset")
                .args(["-c", cpu, "true"])
                .stderr(Stdio::null())
                .status();
            tried.is_ok_and(|status| status.success())
        };
        if works("0") && works("1") {
            Self::Pinned
        } else {
            Self::Unpinned
        }
    }
}

/// What to start.
pub struct Launch<'a> {
    /// Name of the log file, and of the process in messages.
    pub name: &'a str,
    pub program: &'a Path,
    pub arguments: Vec<String>,
    pub environment: Vec<(&'static str, String)>,
    pub cpu: Cpu,
}

/// One child, with its stdin and stdout as a line-wise conversation and its stderr in a file.
pub struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Starts a child that works and logs in `folder`.
    pub fn start(launch: Launch<'_>, pinning: Pinning, folder: &Path) -> Result<Self> {
        let log = folder.join(format!("{}.log", launch.name));
        // The streams held open need more descriptors than the usual soft limit.
        let mut command = Command::new("sh");
        command.args(["-c", r#"ulimit -S -n "$(ulimit -H -n)"; exec "$@""#, "sh"]);
        match (pinning, launch.cpu) {
            (Pinning::Unpinned, _) => &mut command,
            (Pinning::Pinned, Cpu::Proxy) => command.args(["taskset", "-c", "0"]),
            (Pinning::Pinned, Cpu::Surroundings) => command.args(["taskset", "-c", "1"]),
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.arg(launch.program).args(&launch.arguments);
        command
            .env_clear()
            .env("PATH", path)
            .envs(launch.environment)
            .current_dir(folder);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?);
        let mut child = command
            .spawn()
            .with_context(|| format!("starting {}", launch.name))?;
        let stdout = child.stdout.take().context("stdout of a child")?;
        Ok(Self {
            child,
            lines: BufReader::new(stdout),
            name: launch.name.to_owned(),
            log,
        })
    }

    /// Process id; the shell and `taskset` have given way to the program itself.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line of stdout; an error when the process ended instead.
    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            bail!("{} ended early: {}", self.name, self.last_words());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Writes one line to stdin.
    pub fn go_on(&mut self) -> Result<()> {
        let stdin = self.child.stdin.as_mut().context("stdin of a child")?;
        stdin.write_all(b"go\n")?;
        Ok(stdin.flush()?)
    }

    /// Waits until `address` accepts a connection.
    pub fn wait_for(&mut self, address: SocketAddr) -> Result<()> {
        let deadline = Instant::now() + START_PATIENCE;
        while TcpStream::connect(address).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}: {}", self.name, self.last_words());
            }
            if Instant::now() > deadline {
                bail!(
                    "{} does not listen on {address}: {}",
                    self.name,
                    self.last_words()
                );
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// The end of its stderr.
    pub fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Either fails only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for the children's files, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes a folder of its own for `name`.
    pub fn create(name: &str) -> Result<Self> {
        let bench = std::env::current_exe()?;
        let target = bench.ancestors().nth(3).unwrap_or(Path::new("."));
        let path = target.join(format!("tmp/bench-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// `N` loopback addresses that were free a moment ago.
pub fn free_addresses<const N: usize>() -> Result<[SocketAddr; N]> {
    let listeners: Vec<TcpListener> = (0..N)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<std::io::Result<_>>()?;
    let addresses = listeners
        .iter()
        .map(TcpListener::local_addr)
        .collect::<std::io::Result<Vec<_>>>()?;
    addresses
        .try_into()
        .map_err(|_| anyhow::anyhow!("fewer addresses than asked for"))
}

/// Ends this process when stdin closes, so that no role outlives a bench that was killed.
pub fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
}

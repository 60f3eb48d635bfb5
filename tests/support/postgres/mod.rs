//! A real PostgreSQL from the system's package: its own data folder, a free loopback port, ended with
//! the value. Passwords are asked for, as in production; nothing is synced to disk, so that it is fast.
//! Tests that need it are ignored unless they are asked for (`#[ignore = "needs PostgreSQL"]`).

mod database;

use super::PATIENCE;
use super::fault::free_port;
use super::process::Process;
use super::stack::Folder;
pub use database::Database;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Instant;

/// Where Debian's packages put the programs of each major version.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// The superuser, and the role of gateways, which may do nothing but what a test grants it.
const ADMIN: &str = "admin";
/// The role that gateways connect as.
pub const GATEWAY: &str = "gateway";
/// The password of both.
pub const PASSWORD: &str = "pg_password_5d1f0c";

/// A server.
pub struct Postgres {
    programs: PathBuf,
    folder: Arc<Folder>,
    port: u16,
    options: Vec<String>,
    process: Option<Process>,
    /// The database that others are copies of, where several tests share the server.
    template: Option<OnceLock<String>>,
}

impl Postgres {
    /// A running server.
    ///
    /// # Panics
    /// Where PostgreSQL is not installed.
    #[track_caller]
    pub fn start() -> Self {
        let programs = programs();
        let programs =
            programs.unwrap_or_else(|| panic!("PostgreSQL is not installed below {PROGRAMS}"));
        let mut server = Self {
            programs,
            folder: Folder::new(),
            port: 0,
            options: Vec::new(),
            process: None,
            template: None,
        };
        server.initialise();
        let started = (0..5).any(|_| {
            server.port = free_port();
            server.launch()
        });
        assert!(started, "a free port in five tries");
        let gateway = format!("CREATE ROLE {GATEWAY} LOGIN PASSWORD '{PASSWORD}'");
        server.admin("postgres").execute(&gateway);
        server
    }

    /// The running server that tests of this process share, for those that neither stop it nor change its settings.
    /// Setting one up takes longer than most tests.
    ///
    /// # Panics
    /// Where PostgreSQL is not installed.
    #[track_caller]
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(|broken| broken.into_inner());
        let server = shared.upgrade().unwrap_or_else(|| {
            let mut server = Self::start();
            server.template = Some(OnceLock::new());
            Arc::new(server)
        });
        *shared = Arc::downgrade(&server);
        server
    }

    /// A new database without the program's schema.
    pub fn empty_database(&self) -> Database {
        self.new_database("template1")
    }

    /// A new database.
    pub fn database(&self) -> Database {
        match &self.template {
            Some(template) => {
                self.new_database(template.get_or_init(|| self.migrated_database().name))
            }
            None => self.migrated_database(),
        }
    }

    fn migrated_database(&self) -> Database {
        let database = self.empty_database();
        database.migrate();
        database.execute(&format!("GRANT SELECT ON gateway_policies TO {GATEWAY}"));
        database
    }

    fn new_database(&self, template: &str) -> Database {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", SERIAL.fetch_add(1, Ordering::Relaxed));
        self.admin("postgres")
            .execute(&format!("CREATE DATABASE {name} TEMPLATE {template}"));
        self.admin(&name)
    }

    /// Stops it as an operator would: connections are ended.
    #[track_caller]
    pub fn stop(&mut self) {
        self.end("INT");
    }

    /// Breaks it off; the next start recovers.
    #[track_caller]
    pub fn crash(&mut self) {
        self.end("QUIT");
    }

    /// Starts it again at the same port.
    #[track_caller]
    pub fn start_again(&mut self) {
        assert!(
            self.launch(),
            "PostgreSQL starts again on port {}",
            self.port
        );
    }

    /// Restarts it with one more setting, such as `ssl=on`.
    #[track_caller]
    pub fn restart_with(&mut self, settings: &[String]) {
        self.stop();
        self.options.extend_from_slice(settings);
        self.start_again();
    }

    /// A file that only the server's user can read; gives its path.
    pub fn private_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.write(name, text);
        run(Command::new("chmod").arg("0600").arg(&path));
        self.give(&path);
        path
    }

    fn admin(&self, name: &str) -> Database {
        Database {
            name: name.to_owned(),
            port: self.port,
            psql: self.programs.join("psql"),
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn initialise(&self) {
        self.give(self.folder.path());
        let password = self.private_file("password", PASSWORD);
        let mut initdb = self.as_server("initdb");
        initdb.args([
            "--no-sync",
            "--encoding=UTF8",
            "--no-locale",
            "--auth=scram-sha-256",
        ]);
        initdb
            .arg(format!("--username={ADMIN}"))
            .arg("--pwfile")
            .arg(password);
        run(initdb.arg("--pgdata").arg(self.data()));
    }

    /// False when the port was taken in the meantime.
    fn launch(&mut self) -> bool {
        let mut command = self.as_server("postgres");
        command
            .arg("-D")
            .arg(self.data())
            .args(["-p", &self.port.to_string()]);
        let fixed = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=200",
            "shared_buffers=16MB",
            "logging_collector=off",
        ];
        for setting in fixed
            .iter()
            .copied()
            .chain(self.options.iter().map(String::as_str))
        {
            command.args(["-c", setting]);
        }
        let mut process = Process::start(&mut command);
        let deadline = Instant::now() + PATIENCE * 2;
        loop {
            let log = process.stderr();
            if log.contains("ready to accept connections") {
                self.process = Some(process);
                return true;
            }
            if process.exited().is_some() {
                assert!(
                    log.contains("could not bind"),
                    "PostgreSQL did not start:\n{log}"
                );
                return false;
            }
            assert!(Instant::now() < deadline, "PostgreSQL is not ready:\n{log}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn end(&mut self, signal: &str) {
        let mut process = self.process.take().expect("the server runs");
        process.signal(signal);
        process.await_exit();
    }

    /// One of its programs as the user that may run it: a server refuses to be root.
    fn as_server(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
                command.arg(program);
                command
            }
            false => Command::new(program),
        };
        command.current_dir(self.folder.path());
        command
            .env("LC_ALL", "C.UTF-8")
            .env_remove("PGDATA")
            .env_remove("PGOPTIONS");
        command
    }

    fn give(&self, path: &Path) {
        if is_root() {
            run(Command::new("chown").arg("postgres:postgres").arg(path));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        // At once but in order: a server that is killed leaves its shared memory behind.
        process.signal("QUIT");
        let deadline = Instant::now() + PATIENCE;
        while process.exited().is_none() && Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
}

/// The programs of the latest version that is installed whole.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(PROGRAMS).ok()?;
    let folders = versions.flatten().map(|entry| entry.path().join("bin"));
    let whole = folders.filter(|bin| {
        let needed = ["initdb", "postgres", "psql"];
        needed.iter().all(|program| bin.join(program).exists())
    });
    whole.max_by_key(|bin| {
        let version = bin.parent().and_then(Path::file_name);
        version.and_then(|name| name.to_str()?.parse::<u32>().ok())
    })
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

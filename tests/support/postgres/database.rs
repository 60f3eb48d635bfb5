//! A database of a [`Postgres`](super::Postgres), and what tests do in it.

use super::{ADMIN, GATEWAY, PASSWORD};
use monitor_model::{Secret, StoreSettings, StoreSsl};
use std::path::PathBuf;
use std::process::Command;

/// A database of its own for one test, with the program's schema. It names the server, which may be
/// down.
#[derive(Clone)]
pub struct Database {
    /// Its name.
    pub name: String,
    /// The server's port on 127.0.0.1.
    pub port: u16,
    pub(super) psql: PathBuf,
}

impl Database {
    /// Runs SQL as the superuser; fails the test where the server refuses it.
    #[track_caller]
    pub fn execute(&self, sql: &str) {
        self.query(sql);
    }

    /// As [`Database::execute`]; the values of the result, `|` between columns.
    #[track_caller]
    pub fn query(&self, sql: &str) -> String {
        self.try_query(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// As [`Database::query`]; what the server says where it refuses.
    pub fn try_query(&self, sql: &str) -> Result<String, String> {
        let mut psql = Command::new(&self.psql);
        psql.args([
            "-X",
            "-q",
            "-t",
            "-A",
            "-v",
            "ON_ERROR_STOP=1",
            "-h",
            "127.0.0.1",
        ]);
        psql.args([
            "-p",
            &self.port.to_string(),
            "-U",
            ADMIN,
            "-d",
            &self.name,
            "-c",
            sql,
        ]);
        let output = psql.env("PGPASSWORD", PASSWORD).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stderr)),
        }
    }

    /// Adds an application with this policy, a JSON text.
    #[track_caller]
    pub fn add(&self, id: &str, policy: &str) {
        self.execute(&format!(
            "INSERT INTO applications (id, name, policy) VALUES ('{id}', 'test', '{policy}')"
        ));
    }

    /// Changes an application's policy.
    #[track_caller]
    pub fn set(&self, id: &str, policy: &str) {
        self.execute(&format!(
            "UPDATE applications SET policy = '{policy}' WHERE id = '{id}'"
        ));
    }

    /// The variables that name it to a gateway.
    pub fn env(&self) -> [(&'static str, String); 6] {
        [
            ("STORE_HOST", "127.0.0.1".to_owned()),
            ("STORE_PORT", self.port.to_string()),
            ("STORE_DB", self.name.clone()),
            ("STORE_USER", GATEWAY.to_owned()),
            ("STORE_PASSWORD", PASSWORD.to_owned()),
            ("STORE_SSL", "false".to_owned()),
        ]
    }

    /// A connection as the superuser, for what the library does in a database.
    pub fn options(&self) -> sqlx::postgres::PgConnectOptions {
        sqlx::postgres::PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.port)
            .database(&self.name)
            .username(ADMIN)
            .password(PASSWORD)
    }

    /// What names it to an analysis server, as its owner.
    pub fn settings(&self) -> StoreSettings {
        StoreSettings {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            db: self.name.clone(),
            user: ADMIN.to_owned(),
            password: Some(Secret::new(PASSWORD)),
            ssl: StoreSsl::Off,
            ca: None,
        }
    }

    /// As [`Database::env`], for an analysis server, which owns the schema.
    pub fn owner_env(&self) -> [(&'static str, String); 6] {
        let mut env = self.env();
        for (name, value) in &mut env {
            if *name == "STORE_USER" {
                *value = ADMIN.to_owned();
            }
        }
        env
    }

    /// Brings it to the schema of this program.
    pub fn migrate(&self) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let settings = self.settings();
        let migrated = monitor_store::PostgresStore::migrate(&settings);
        runtime.block_on(migrated).unwrap();
    }
}

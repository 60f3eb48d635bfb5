//! The contract on SQLite.

use async_trait::async_trait;
use monitor_store::{SqliteStore, Store};
use std::path::PathBuf;
use std::sync::Arc;
use support::bed::Database;
use support::sqlite;
use support::stack::Folder;

struct File(Arc<Folder>);

impl File {
    fn path(&self) -> PathBuf {
        self.0.path().join("monitor.db")
    }
}

#[async_trait]
impl Database for File {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(SqliteStore::open(&self.path()).await.unwrap())
    }

    async fn execute(&self, sql: &str) {
        sqlite::execute(&self.path(), sql).await;
    }

    fn audit_table(&self) -> &'static str {
        "audit"
    }
}

fn a_file() -> File {
    File(Folder::new())
}

store_contract!(a_file);

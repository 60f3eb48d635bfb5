//! The contract on SQLite.

use async_trait::async_trait;
use monitor_store::{SqliteStore, Store};
use std::sync::Arc;
use support::bed::Database;
use support::stack::Folder;

struct File(Arc<Folder>);

#[async_trait]
impl Database for File {
    async fn open(&self) -> Arc<dyn Store> {
        let path = self.0.path().join("monitor.db");
        Arc::new(SqliteStore::open(&path).await.unwrap())
    }
}

fn a_file() -> File {
    File(Folder::new())
}

store_contract!(a_file);

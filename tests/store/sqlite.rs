//! The contract on SQLite.

use crate::bed::Database;
use crate::support::stack::Folder;
use async_trait::async_trait;
use monitor_store::{SqliteStore, Store};
use std::sync::Arc;

struct File(Arc<Folder>);

#[async_trait]
impl Database for File {
    async fn open(&self) -> Arc<dyn Store> {
        let path = self.0.path().join("monitor.db");
        Arc::new(SqliteStore::open(&path).await.unwrap())
    }
}

fn a_file() -> Option<File> {
    Some(File(Folder::new()))
}

store_contract!(a_file);

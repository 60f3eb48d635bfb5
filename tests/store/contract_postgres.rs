//! The contract on PostgreSQL. What is specific to it has tests of its own.

use async_trait::async_trait;
use monitor_store::{PostgresStore, Store};
use std::sync::Arc;
use support::bed::Database;
use support::postgres::{self, Postgres};

struct OnServer {
    database: postgres::Database,
    // Ended with the last test that uses it.
    _server: Arc<Postgres>,
}

#[async_trait]
impl Database for OnServer {
    async fn open(&self) -> Arc<dyn Store> {
        let settings = self.database.settings();
        Arc::new(PostgresStore::open(&settings).await.unwrap())
    }

    async fn execute(&self, sql: &str) {
        self.database.execute(sql);
    }

    fn audit_table(&self) -> &'static str {
        "audit_log"
    }
}

fn a_database() -> OnServer {
    let server = Postgres::shared();
    OnServer {
        database: server.database(),
        _server: server,
    }
}

store_contract!(
    #[ignore = "needs PostgreSQL"]
    a_database
);

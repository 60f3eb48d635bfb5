//! The policy store in PostgreSQL: STORE_HOST and what belongs to it. Nothing is connected here
//! (§8.2, CONTRACT 16).

use crate::config::reading::reader::{Raw, Reader};
use crate::config::reading::yaml::{Value, scalar};
use crate::config::values::units::{self, Form};
use monitor_model::{StoreSettings, StoreSsl};

const WITHOUT_HOST: &str = "has no effect without a host; set STORE_HOST or store.host";

/// The store, where a host is named. What belongs to it is checked in any case.
pub(crate) fn read(r: &mut Reader<'_>) -> Option<StoreSettings> {
    let host = r.read("store.host", &units::host());
    let port = r.read("store.port", &units::count(1..=65_535));
    let db = r.read("store.db", &units::text());
    let user = r.read("store.user", &units::text());
    let password = r.read("store.password", &units::password());
    let ssl = ssl(r);
    let ca = r.read("store.ca", &units::path());
    let Some(host) = host else {
        refuse(r, "store.db", db.is_some(), WITHOUT_HOST);
        refuse(r, "store.user", user.is_some(), WITHOUT_HOST);
        refuse(r, "store.password", password.is_some(), WITHOUT_HOST);
        refuse(r, "store.ca", ca.is_some(), WITHOUT_HOST);
        return None;
    };
    let missing = "is not set, but a host is; set STORE_DB or store.db";
    refuse(r, "store.db", db.is_none(), missing);
    let missing = "is not set, but a host is; set STORE_USER or store.user";
    refuse(r, "store.user", user.is_none(), missing);
    let unused = "is used with ssl: true only; set STORE_SSL or store.ssl";
    refuse(r, "store.ca", ca.is_some() && ssl != StoreSsl::On, unused);
    Some(StoreSettings {
        host,
        // In range by its form.
        port: port
            .and_then(|port| u16::try_from(port).ok())
            .unwrap_or(5432),
        db: db.unwrap_or_default(),
        user: user.unwrap_or_default(),
        password,
        ssl,
        ca,
    })
}

/// Reports a contradiction, unless what it follows from is reported already.
fn refuse(r: &mut Reader<'_>, key: &str, contradicts: bool, text: &str) {
    let told = ["store.host", "store.ssl", key]
        .into_iter()
        .any(|key| r.has_problem(key));
    if contradicts && !told {
        r.contradiction(key, text);
    }
}

fn ssl(r: &mut Reader<'_>) -> StoreSsl {
    const WORDS: &[(&str, StoreSsl)] = &[
        ("auto", StoreSsl::Auto),
        ("true", StoreSsl::On),
        ("false", StoreSsl::Off),
    ];
    let form: Form<StoreSsl> = units::word(WORDS);
    let read = r.read_with("store.ssl", |_, raw| match raw {
        Raw::Text(text) => form.parse(text).map_err(Some),
        Raw::Node(node) => match &node.value {
            Value::Flag(flag) => form
                .parse(if *flag { "true" } else { "false" })
                .map_err(Some),
            _ => scalar(node, &form).map_err(Some),
        },
    });
    read.unwrap_or(StoreSsl::Auto)
}

//! The keys of attached files (§8, CONTRACT 31, 34). The gateway itself knows which addresses it refuses
//! without them.

use crate::config::reading::collections::list;
use crate::config::reading::reader::Reader;
use crate::config::values::network::{NETWORKS, Network};
use crate::config::values::units::{self, Form, GIB, MIB, MILLISECOND};
use std::time::Duration;

/// Attached files (§8, CONTRACT 31).
#[derive(Clone, Debug, PartialEq)]
pub struct FilesSettings {
    /// MONITOR_FILES_MAX_BYTES, default 20 MiB: one file.
    pub max_bytes: u64,
    /// MONITOR_FILES_MAX_CONCURRENCY, default 4: files of one call under way at once.
    pub max_concurrency: usize,
    /// MONITOR_FILES_TIMEOUT, default 60 s: one download.
    pub timeout: Duration,
    /// Networks that files may come from although they are not public.
    pub allow_networks: Vec<Network>,
    /// Hosts that files may come from wherever they are, in lower case.
    pub allow_hosts: Vec<String>,
}

/// What all downloads of one call may take together.
const TEN_MINUTES: Duration = Duration::from_secs(600);

pub(crate) fn read(r: &mut Reader<'_>) -> FilesSettings {
    FilesSettings {
        max_bytes: r
            .read("files.max_bytes", &units::size(1..=GIB))
            .unwrap_or(20 * MIB),
        max_concurrency: r
            .read("files.max_concurrency", &units::count(1..=64))
            .unwrap_or(4),
        timeout: r
            .read("files.timeout", &units::duration(MILLISECOND..=TEN_MINUTES))
            .unwrap_or(Duration::from_secs(60)),
        allow_networks: list(r, "files.allow_networks", &network()),
        allow_hosts: list(r, "files.allow_hosts", &host()),
    }
}

pub(crate) fn network() -> Form<Network> {
    Form::new(NETWORKS, |text| {
        text.parse()
            .map_err(|wrong| format!("{} {wrong}", units::quote(text)))
    })
}

pub(crate) fn host() -> Form<String> {
    Form::new("host names or addresses, without scheme and port", |text| {
        let named = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        let fits = !text.is_empty() && text.bytes().all(named)
            || text.parse::<std::net::Ipv6Addr>().is_ok();
        match fits {
            true => Ok(text.trim_end_matches('.').to_ascii_lowercase()),
            false => Err("is not a host".to_owned()),
        }
    })
}

//! The keys of attached files (§8, CONTRACT 31, 34). Which addresses are refused without them is the
//! gateway's own knowledge.

use super::network::Network;
use super::reader::{Raw, Reader, scalar};
use super::settings::FilesSettings;
use super::units::{self, Form};
use super::yaml::{Node, Value};
use std::time::Duration;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MILLISECOND: Duration = Duration::from_millis(1);
/// What all downloads of one call may take together.
const TEN_MINUTES: Duration = Duration::from_secs(600);

pub(super) fn read(r: &mut Reader<'_>) -> FilesSettings {
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

fn network() -> Form<Network> {
    Form::new(
        "networks such as 10.0.0.0/8 or fd00::/8, or single addresses",
        |text| {
            text.parse()
                .map_err(|wrong| format!("{} {wrong}", units::quote(text)))
        },
    )
}

fn host() -> Form<String> {
    Form::new("host names or addresses, without scheme and port", |text| {
        let named = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        let fits = !text.is_empty() && text.bytes().all(named)
            || text.parse::<std::net::Ipv6Addr>().is_ok();
        match fits {
            true => Ok(text.trim_end_matches('.').to_ascii_lowercase()),
            false => Err("is no host".to_owned()),
        }
    })
}

/// A list, or one item; each that is wrong is reported with its own line.
pub(super) fn list<T>(reader: &mut Reader<'_>, key: &str, form: &Form<T>) -> Vec<T> {
    let read = reader.read_with(key, |reader, raw| match raw {
        Raw::Text(text) => {
            let items = text.split(',').map(|item| form.parse(item));
            items.collect::<Result<Vec<T>, _>>().map_err(Some)
        }
        Raw::Node(Node {
            value: Value::List(items),
            ..
        }) => {
            let mut read = Vec::new();
            for (index, node) in items.iter().enumerate() {
                match scalar(node, form) {
                    Ok(item) => read.push(item),
                    Err(text) => reader.report_line(node.line, &format!("{key}[{index}]"), text),
                }
            }
            (read.len() == items.len()).then_some(read).ok_or(None)
        }
        Raw::Node(node) => scalar(node, form).map(|item| vec![item]).map_err(Some),
    });
    read.unwrap_or_default()
}

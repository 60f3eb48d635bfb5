//! In the middle of real networks: proxies in front that name the client, buffers that streams pass, browsers that
//! run pages of other websites, and clients that compress what they send.

mod buffering;
mod client_address;
mod compressed;
mod cors;
mod proxy_protocol;

use serde_json::Value;
use std::path::Path;
use support::eventually;

/// The clients in the access log, once there are so many lines.
#[track_caller]
fn clients(path: &Path, count: usize) -> Vec<String> {
    eventually("the lines of the access log", || {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line of JSON");
            line["client"].as_str().unwrap_or_default().to_owned()
        });
        let lines: Vec<String> = lines.collect();
        (lines.len() >= count).then_some(lines)
    })
}

//! Calls of a target's own API.

use anyhow::{Context, Result, bail};
use bench_support::load::ACCESS_KEY;
use monitor_model::PatternSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer of the product's own API may take; under an emulator the first one takes fifty times as long.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);

/// Rules of the pattern tier for every application: what a tagger costs is the detection bench's to say.
pub(super) fn look_for_patterns(analysis: SocketAddr) -> Result<()> {
    let answer = call(analysis, "GET", "/applications", "")?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no answer")?;
    let listed: serde_json::Value = serde_json::from_str(body)?;
    let applications = listed["applications"].as_array().context("no list")?;
    for application in applications {
        let id = application["id"].as_str().context("no id")?;
        let side = serde_json::json!({"dataclean": {"patterns": PatternSet::local()}});
        let change = serde_json::json!({
            "version": application["version"],
            "rules": {"pre": side, "post": side},
        });
        call(
            analysis,
            "PATCH",
            &format!("/applications/{id}"),
            &change.to_string(),
        )?;
    }
    Ok(())
}

pub(super) fn get(address: SocketAddr, path: &str) -> Result<String> {
    call(address, "GET", path, "")
}

fn call(address: SocketAddr, method: &str, path: &str, body: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER_PATIENCE))?;
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Authorization: Bearer {ACCESS_KEY}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!(
            "{path} answered {}",
            answer.lines().next().unwrap_or_default()
        );
    }
    Ok(answer)
}

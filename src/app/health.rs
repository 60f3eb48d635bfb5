//! Asks a running process whether it is well, for supervisors of containers that have no shell and no curl.

use super::upgrade::order_operations;
use crate::config::Role;
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};
use url::Url;

/// The most bytes of an answer that are read.
const MOST: u64 = 64 << 10;
/// The most characters of an answer that are shown.
const SHOWN: usize = 200;

/// The address of a health check on the operations listener of the process that runs with this data folder.
///
/// # Errors
/// When none runs.
pub fn health_url(data_dir: &Path, role: Role, path: &str) -> Result<Url> {
    let listener: SocketAddr = order_operations(data_dir, role)?
        .parse()
        .context("the running process did not name its operations listener")?;
    let ip = match listener.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    let address = SocketAddr::new(ip, listener.port());
    Ok(Url::parse(&format!("http://{address}{path}"))?)
}

/// Asks this address within `limit`; gives the first line of an answer with a status of success.
///
/// # Errors
/// When there is no such answer; the text names the address and the status.
pub fn check_health(url: &Url, limit: Duration) -> Result<String> {
    let asked = ask(url, Instant::now() + limit);
    let answer = asked.with_context(|| format!("{url} did not answer within {limit:?}"))?;
    let (status, line) = read(&answer).with_context(|| format!("{url} gave no HTTP answer"))?;
    ensure!((200..300).contains(&status), "{url}: {status} {line}");
    Ok(line)
}

/// The whole answer. Its head says nothing about its length in HTTP/1.0: it ends with the connection.
fn ask(url: &Url, until: Instant) -> Result<Vec<u8>> {
    ensure!(url.scheme() == "http", "only http is supported");
    let host = url.host_str().context("the address has no host")?;
    let mut stream = connect(url, until)?;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let request = format!("GET {target} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.set_write_timeout(Some(left(until)?))?;
    stream.write_all(request.as_bytes())?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while (answer.len() as u64) < MOST {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut piece)? {
            0 => break,
            count => answer.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
    Ok(answer)
}

fn connect(url: &Url, until: Instant) -> Result<TcpStream> {
    let port = url.port_or_known_default().unwrap_or(80);
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut failed = None;
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) => Err(error.into()),
        None => bail!("the name has no address"),
    }
}

fn left(until: Instant) -> Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    ensure!(!left.is_zero(), "the time is up");
    Ok(left)
}

/// Status and first line of an answer.
fn read(answer: &[u8]) -> Option<(u16, String)> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let rest = head.strip_prefix("HTTP/1.")?;
    let status = rest.split(' ').nth(1)?.parse().ok()?;
    let line = body.lines().next().unwrap_or_default();
    let shown = line.chars().filter(|character| !character.is_control());
    Some((status, shown.take(SHOWN).collect()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::read;

    #[test]
    fn status_and_first_line_of_an_answer_are_read() {
        let answer = b"HTTP/1.1 503 Service Unavailable\r\na: b\r\n\r\ndraining\nand more";
        assert_eq!(read(answer).unwrap(), (503, "draining".to_owned()));
        assert_eq!(read(b"HTTP/1.0 200 OK\r\n\r\n").unwrap().0, 200);
        for broken in [
            "",
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
        ] {
            assert_eq!(read(broken.as_bytes()), None, "{broken}");
        }
    }
}

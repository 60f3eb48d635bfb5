//! Asks a running process whether it is well, for supervisors of containers that have no shell and no curl.

use super::deadline::{Deadline, is_timeout};
use super::upgrade::order_operations;
use crate::config::Role;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use url::Url;

/// The most bytes of an answer that are read.
const MOST: u64 = 64 << 10;
/// The most characters of an answer that are shown.
const SHOWN: usize = 200;
/// The least time for a connection to one address.
const SHORTEST: Duration = Duration::from_millis(1);

/// The address of a health check on the operations listener of the process that runs with this data folder.
///
/// # Errors
/// When none runs, or it does not answer in time.
pub fn health_url(data_dir: &Path, role: Role, path: &str, deadline: &Deadline) -> Result<Url> {
    let listener: SocketAddr = order_operations(data_dir, role, deadline)?
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

/// Asks this address; gives the first line of an answer with a status of success.
///
/// # Errors
/// When there is no such answer in time; the text names the address, and the status or the failure.
pub fn check_health(url: &Url, deadline: &Deadline) -> Result<String> {
    // A query may hold a token.
    let place = &url[..url::Position::AfterPath];
    let answer = ask(url, deadline).map_err(|error| match is_timeout(&error) {
        true => anyhow!("{place} did not answer within {:?}", deadline.limit()),
        false => error.context(format!("asking {place} failed")),
    })?;
    let (status, line) = read(&answer).with_context(|| format!("{place} gave no HTTP answer"))?;
    ensure!((200..300).contains(&status), "{place}: {status} {line}");
    Ok(line)
}

/// The whole answer. Its head says nothing about its length in HTTP/1.0: it ends with the connection.
fn ask(url: &Url, deadline: &Deadline) -> Result<Vec<u8>> {
    ensure!(url.scheme() == "http", "only http is supported");
    let host = url.host_str().context("the address has no host")?;
    let mut stream = connect(&addresses(url, deadline)?, deadline)?;
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let request = format!("GET {target} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.set_write_timeout(Some(deadline.left()?))?;
    stream.write_all(request.as_bytes())?;
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while (answer.len() as u64) < MOST {
        stream.set_read_timeout(Some(deadline.left()?))?;
        match stream.read(&mut piece)? {
            0 => break,
            count => answer.extend_from_slice(piece.get(..count).unwrap_or_default()),
        }
    }
    Ok(answer)
}

/// On a thread of its own, which ends with the process: the system's resolver has no time limit.
fn addresses(url: &Url, deadline: &Deadline) -> Result<Vec<SocketAddr>> {
    let port = url.port_or_known_default().unwrap_or(80);
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = host.to_owned();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let found = (host.as_str(), port).to_socket_addrs();
        // Nobody waits for it any longer.
        let _ = sender.send(found.map(Vec::from_iter));
    });
    let found = receiver.recv_timeout(deadline.left()?);
    Ok(found.map_err(|_| deadline.passed())??)
}

/// To the first of them that accepts. Each gets an equal share of the time that is left.
fn connect(addresses: &[SocketAddr], deadline: &Deadline) -> Result<TcpStream> {
    let mut failed = None;
    for (before, address) in addresses.iter().enumerate() {
        let share = deadline.left()? / u32::try_from(addresses.len() - before).unwrap_or(u32::MAX);
        match TcpStream::connect_timeout(address, share.max(SHORTEST)) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) => Err(error.into()),
        None => bail!("the name has no address"),
    }
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
    use super::{Deadline, connect, read};
    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
    use std::time::Duration;

    #[test]
    fn an_address_that_takes_no_connection_leaves_time_for_the_next_one() {
        let full = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&full, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        listen(&full, 0).unwrap();
        let full_address: SocketAddr = getsockname(&full).unwrap().try_into().unwrap();
        let wait = Duration::from_millis(100);
        let open = std::iter::from_fn(|| TcpStream::connect_timeout(&full_address, wait).ok());
        // Its queue is full once a connection waits in vain.
        let held: Vec<TcpStream> = open.take(64).collect();
        assert!(held.len() < 64);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let next = listener.local_addr().unwrap();
        let deadline = Deadline::within(Duration::from_secs(1));
        let connected = connect(&[full_address, next], &deadline).unwrap();
        assert_eq!(connected.peer_addr().unwrap(), next);
    }

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

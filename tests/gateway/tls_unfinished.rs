//! Bytes of TLS that give no request yet: handshakes and records without their end are bounded, count for the address
//! of their client (`limits.client_bytes`) and are given back, on the gateway's listener and on the analysis server's.

use crate::memory::of_size;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use support::eventually;
use support::fault::free_port;
use support::http::{connect, is_timeout};
use support::message::uninterrupted;
use support::stack::{Folder, Stack};
use support::tls::Identity;
use support::upstream::Upstream;

const GATEWAY: &str = "monitor_buffered_bytes";
const API: &str = "monitor_api_buffered_bytes";
/// What an unfinished handshake or record counts for.
const STEP: f64 = (16 << 10) as f64;
const FEW: usize = 20;
const CLIENT_CONNECTIONS: &str = r#"monitor_connections_ended_total{reason="client_connections"}"#;

/// A listener with TLS, and the metric of the memory that its clients take.
type Guarded = (SocketAddr, &'static str);

fn listeners(identity: &Identity) -> (Stack, [Guarded; 2], Upstream) {
    listeners_with(identity, "client_bytes: 1MiB")
}

/// With these limits of one client on both.
fn listeners_with(identity: &Identity, of_client: &str) -> (Stack, [Guarded; 2], Upstream) {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let cert = folder.write("cert.pem", &identity.cert_pem);
    let key = folder.write("key.pem", &identity.key_pem);
    let tls = format!(
        "tls: {{cert: \"{}\", key: \"{}\"}}",
        cert.display(),
        key.display()
    );
    let started = (0..5).find_map(|_| {
        let (clear, open, secure, api) = (free_port(), free_port(), free_port(), free_port());
        let yaml = format!(
            "listen:\n  - 127.0.0.1:{clear}\n  - {{address: 127.0.0.1:{secure}, {tls}}}\n\
             limits: {{{of_client}, header_timeout: 60s}}\n\
             analysis:\n  listen:\n    - 127.0.0.1:{open}\n    - {{address: 127.0.0.1:{api}, {tls}}}\n  \
             max_body: 256KiB\n  limits: {{{of_client}}}"
        );
        let stack = Stack::all_with_printed_key().upstream(&upstream).yaml(&yaml);
        let stack = stack.listening_by_yaml(clear).analysis_by_yaml(open).try_start()?;
        let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        Some((stack, [(at(secure), GATEWAY), (at(api), API)]))
    });
    let (stack, listeners) = started.expect("free ports");
    (stack, listeners, upstream)
}

/// The first bytes of a ClientHello that claims 60,000 bytes.
fn begun_hello(bytes: usize) -> Vec<u8> {
    let mut hello = vec![1, 0, 0xea, 0x60, 3, 3];
    hello.resize(bytes, 0);
    let records = hello.chunks(8_000).flat_map(|part| {
        let length = u16::try_from(part.len()).unwrap().to_be_bytes();
        [&[22, 3, 1][..], &length, part].concat()
    });
    records.collect()
}

fn unfinished_hello(address: SocketAddr) -> TcpStream {
    let mut socket = connect(address);
    socket.write_all(&begun_hello(12_000)).unwrap();
    socket
}

fn held(stack: &Stack, metric: &str, bytes: f64) {
    eventually("it is counted, and no more than that", || {
        (stack.metric(metric) == bytes).then_some(())
    });
}

#[test]
fn a_client_hello_of_more_than_16_kib_ends_its_connection() {
    let identity = Identity::new();
    let (_stack, listeners, _upstream) = listeners(&identity);
    for (address, _) in listeners {
        let mut socket = connect(address);
        // The end of it may find the connection closed.
        let _ = socket.write_all(&begun_hello(59_000));
        let mut answer = Vec::new();
        let end = socket.read_to_end(&mut answer);
        assert!(end.is_ok() || end.is_err_and(|error| !is_timeout(&error)));
        identity.connect(address, &[]);
    }
}

#[test]
fn unfinished_handshakes_of_one_client_take_a_bounded_part_of_the_memory() {
    let identity = Identity::new();
    let (stack, listeners, _upstream) = listeners(&identity);
    for (address, metric) in listeners {
        let few: Vec<_> = (0..FEW).map(|_| unfinished_hello(address)).collect();
        held(&stack, metric, STEP * FEW as f64);
        identity.connect(address, &[]);
        let many: Vec<_> = (0..100).map(|_| unfinished_hello(address)).collect();
        held(&stack, metric, (1 << 20) as f64);
        drop((few, many));
        held(&stack, metric, 0.0);
        identity.connect(address, &[]);
    }
}

#[test]
fn connections_without_a_handshake_count_for_their_client() {
    let identity = Identity::new();
    let (stack, listeners, _upstream) = listeners_with(&identity, "client_connections: 2");
    let mut closed = 0.0;
    // As many wait as 64, and on the analysis server as a token may have.
    for ((address, _), waiting) in listeners.into_iter().zip([64, 16]) {
        let _silent: Vec<_> = (0..2 + waiting + 3).map(|_| connect(address)).collect();
        closed += 3.0;
        eventually("further ones are closed", || {
            (stack.metric(CLIENT_CONNECTIONS) == closed).then_some(())
        });
    }
}

#[test]
fn unfinished_records_of_one_client_count_for_it() {
    let identity = Identity::new();
    let (stack, listeners, _upstream) = listeners(&identity);
    for (address, metric) in listeners {
        let begun: Vec<_> = (0..FEW)
            .map(|_| {
                let socket = connect(address);
                let mut below = socket.try_clone().unwrap();
                let conn = identity.connect_on(socket);
                // Tickets come when the server is done with the handshake, too.
                uninterrupted(|| below.peek(&mut [0])).unwrap();
                below.write_all(&[23, 3, 3, 0x40, 0x10]).unwrap();
                below.write_all(&[0; 12_000]).unwrap();
                conn
            })
            .collect();
        held(&stack, metric, STEP * FEW as f64);
        drop(begun);
        held(&stack, metric, 0.0);
    }
    let mut conn = identity.connect(listeners[0].0, &["http/1.1"]).0;
    conn.send(&of_size(300_000).bytes());
    assert_ne!(conn.response().status(), 503);
}

#[test]
fn a_record_that_begins_beside_bytes_of_a_request_counts_from_its_first_byte() {
    let identity = Identity::new();
    let (stack, listeners, _upstream) = listeners(&identity);
    let preface = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..];
    let line = &b"GET / HTTP/1.1\r\n"[..];
    // What the TLS library reads at once is less, so that the rest alone would not count.
    let record = [&[23, 3, 3, 0x40, 0x10][..], &[0; 7_000]].concat();
    let [(gateway, _), (api, _)] = listeners;
    let (http2, http1) = (("h2", preface), ("http/1.1", line));
    let cases = [
        (gateway, GATEWAY, http2),
        (gateway, GATEWAY, http1),
        (api, API, http1),
    ];
    for (address, metric, (protocol, first)) in cases {
        let begun: Vec<_> = (0..FEW)
            .map(|_| identity.connect_sending(connect(address), &[protocol], first, &record))
            .collect();
        held(&stack, metric, STEP * FEW as f64);
        drop(begun);
        held(&stack, metric, 0.0);
    }
}

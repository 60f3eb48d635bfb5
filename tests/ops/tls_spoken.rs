//! Which versions of TLS and which ciphers a listener speaks.

use crate::support::stack::Stack;
use crate::support::tls::Authority;
use crate::support::upstream::Upstream;
use crate::tls::{Files, listening};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

/// A ClientHello of TLS 1.1 with two suites that its servers had.
const HELLO_TLS11: &[u8] = &[
    0x16, 0x03, 0x01, 0x00, 0x2f, 0x01, 0x00, 0x00, 0x2b, 0x03, 0x02, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32,
    0x00, 0x00, 0x04, 0xc0, 0x14, 0x00, 0x35, 0x01, 0x00,
];
/// A record with an alert, and one that is fatal.
const ALERT: u8 = 21;
const FATAL: u8 = 2;

#[test]
fn only_tls_1_2_and_1_3_are_spoken_and_weak_ciphers_are_not() {
    let (authority, files, upstream) = (Authority::new(), Files::new(), Upstream::ok());
    let (cert, key) = files.put("server", &authority.identity());
    let gateway = |list: &str| {
        Stack::gateway()
            .upstream(&upstream)
            .yaml(&format!("listen:\n  {list}"))
    };
    let (_stack, secure) = listening(gateway, &format!("cert: \"{cert}\", key: \"{key}\""));
    let mut socket = TcpStream::connect(secure).unwrap();
    socket.write_all(HELLO_TLS11).unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let refused = (answer.first(), answer.get(5));
    assert_eq!(refused, (Some(&ALERT), Some(&FATAL)), "{answer:?}");
    scanned(secure);
}

/// What sslscan finds, where it is installed: nothing old and nothing weak. It cannot tell about
/// compression, which the program does not have.
fn scanned(address: SocketAddr) {
    let scan = Command::new("sslscan")
        .args(["--no-colour", &address.to_string()])
        .stdin(Stdio::null())
        .output();
    let Ok(scan) = scan else {
        let required = std::env::var("MONITOR_TEST_SSLSCAN").is_ok_and(|word| word == "required");
        assert!(!required, "sslscan is not installed");
        return eprintln!("skipped: sslscan is not installed");
    };
    let text = String::from_utf8_lossy(&scan.stdout).into_owned();
    for (line, state) in [
        ("SSLv2", "disabled"),
        ("SSLv3", "disabled"),
        ("TLSv1.0", "disabled"),
        ("TLSv1.1", "disabled"),
        ("TLSv1.2", "enabled"),
        ("TLSv1.3", "enabled"),
    ] {
        let found = text.lines().find(|found| found.starts_with(line));
        let found = found.unwrap_or_else(|| panic!("no {line} in:\n{text}"));
        assert!(found.ends_with(state), "{found}");
    }
    for line in text.lines().filter(|line| line.contains("vulnerable")) {
        assert!(line.contains("not vulnerable"), "{line}");
    }
    let ciphers = text.lines().filter(|line| line.contains(" bits "));
    for cipher in ciphers {
        let weak = ["RC4", "3DES", "DES-", "NULL", "EXP", "MD5", "CBC", "anon"];
        assert!(!weak.iter().any(|word| cipher.contains(word)), "{cipher}");
    }
}

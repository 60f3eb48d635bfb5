//! A check whose connection breaks is no check without an answer (CONTRACT 13): it is asked once more.

use crate::sync::{blocked, chat, sync};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use support::backend::verdict;
use support::request::HELLO;
use support::upstream::Upstream;

/// Reads a request to its end; false where there is none.
fn read_request(peer: &mut TcpStream) -> bool {
    let (mut read, mut bytes) = (Vec::new(), [0; 4_096]);
    loop {
        let head = memchr::memmem::find(&read, b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&read[..head]).to_lowercase();
            let length = text.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if read.len() >= head + 4 + length {
                return true;
            }
        }
        match peer.read(&mut bytes) {
            Ok(0) | Err(_) => return false,
            Ok(count) => read.extend_from_slice(&bytes[..count]),
        }
    }
}

/// Flags everything, and closes each connection on its second request without an answer.
fn closing_backend() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            std::thread::spawn(move || {
                if read_request(&mut peer) {
                    peer.write_all(&verdict(&["dataclean"])).unwrap();
                    read_request(&mut peer);
                }
            });
        }
    });
    address
}

#[test]
fn contract_13_a_check_over_a_connection_that_the_backend_closes_is_asked_again() {
    let upstream = Upstream::ok();
    let stack = sync(&upstream, "");
    let stack = stack
        .env("MONITOR_URL", format!("http://{}", closing_backend()))
        .start();
    for _ in 0..20 {
        blocked(&stack.call(&chat(HELLO)));
    }
    upstream.assert_untouched();
}

//! The client against servers of a few lines.
#![allow(clippy::unwrap_used)]
use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A server that gives one answer; its task returns the request head.
async fn once(answer: &'static str) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut peer, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let read = peer.read(&mut head).await.unwrap();
        peer.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(head[..read].to_vec()).unwrap()
    });
    (address, server)
}

/// A download connects to the address that was checked, whatever its name resolves to later.
#[tokio::test]
async fn a_pinned_client_resolves_no_name() {
    let (address, server) = once("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await;
    let client = HttpClient::pinned(false, vec![address]).unwrap();
    let url = format!("http://rebound.invalid:{}/a", address.port());
    let request = Request::get(url).body(whole("")).unwrap();
    let mut answer = client.open(request).await.unwrap();
    assert_eq!(answer.announced_bytes(), 2);
    assert_eq!(answer.chunk().await.unwrap().unwrap(), "hi");
    assert!(answer.chunk().await.unwrap().is_none());
    let head = server.await.unwrap();
    let host = format!("host: rebound.invalid:{}", address.port());
    assert!(head.contains(&host), "{head}");
}

/// A server may close a connection while the next request is on its way over it.
#[tokio::test]
async fn a_repeatable_request_over_a_connection_that_breaks_is_sent_once_more() {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let mut requests = Vec::new();
        // The second request of the first connection, and the first of the third, get no answer.
        for answered in [1, 1, 0, 0] {
            let (mut peer, _) = listener.accept().await.unwrap();
            for number in 0..=answered {
                let mut head = [0; 1024];
                let read = peer.read(&mut head).await.unwrap();
                requests.push(head[..read].to_vec());
                if number < answered {
                    peer.write_all(ANSWER).await.unwrap();
                }
            }
        }
        requests
    });
    let client = HttpClient::pooled(false, None).unwrap();
    let request = || {
        let request = Request::post(format!("http://{address}/")).header("a", "b");
        request.body(whole("body")).unwrap()
    };
    let send = || client.send_repeatable(request(), || Some(request()), 4, Duration::from_secs(60));
    assert_eq!(send().await.unwrap().body.unwrap(), "hi");
    // Once more over a new connection, which is not kept.
    assert_eq!(send().await.unwrap().body.unwrap(), "hi");
    // Not a third time.
    assert_eq!(send().await.unwrap_err(), ClientError::Broken);
    let requests = server.await.unwrap();
    assert!(requests[0].ends_with(b"body"));
    let whole = requests.iter().filter(|request| **request == requests[0]);
    assert_eq!(whole.count(), 5);
}

#[tokio::test]
async fn the_chunks_of_an_answer_are_joined() {
    let chunks = "1\r\na\r\n2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n";
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer: &'static str = format!("{head}{chunks}").leak();
    let (address, _server) = once(answer).await;
    let client = HttpClient::pooled(false, None).unwrap();
    let request = Request::get(format!("http://{address}/")).body(whole(""));
    let answer = client.send(request.unwrap(), 4, Duration::from_secs(60));
    assert_eq!(answer.await.unwrap().body.unwrap(), "abcd");
}

#[tokio::test]
async fn an_answer_over_the_bound_keeps_its_head() {
    for answer in [
        "HTTP/1.1 418 X\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 418 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ] {
        let (address, _server) = once(answer).await;
        let client = HttpClient::pooled(false, None).unwrap();
        let request = Request::get(format!("http://{address}/")).body(whole(""));
        let answer = client.send(request.unwrap(), 2, Duration::from_secs(60));
        let answer = answer.await.unwrap();
        assert_eq!(answer.status.as_u16(), 418);
        assert_eq!(answer.body.unwrap_err(), ClientError::TooLarge(2));
    }
}

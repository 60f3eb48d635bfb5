//! HTTP/2 on both sides: clients by prior knowledge, upstreams by `upstream.http2: always`. Here
//! alone the test speaks through a library, because the frames of HTTP/2 are not what is tested.

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::SendRequest;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};
use support::request::{CHAT, EMBEDDINGS, HELLO, HELLO_STREAM, MODELS};
use support::stack::Stack;
use support::upstream::{ANSWER, DONE, SSE_HEAD, Upstream, delta};
use support::{KEY, PATIENCE, assert_envelope};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

type Sender = SendRequest<Full<Bytes>>;

pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

async fn connect(address: SocketAddr) -> Sender {
    let socket = TcpStream::connect(address).await.unwrap();
    let handshake =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
    let (sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    sender
}

fn request(method: Method, path: &str, body: &str, key: Option<&str>) -> Request<Full<Bytes>> {
    let mut builder = Request::builder()
        .method(method)
        .uri(format!("http://gateway.test{path}"));
    builder = builder
        .header("content-type", "application/json")
        .header("x-user-id", "stays-here");
    if let Some(key) = key {
        builder = builder.header("x-monitor-api-key", key);
    }
    builder
        .body(Full::new(Bytes::from(body.to_owned())))
        .unwrap()
}

async fn call(sender: &mut Sender, request: Request<Full<Bytes>>) -> (u16, HeaderMap, Bytes) {
    let response = sender.send_request(request).await.unwrap();
    let (head, body) = response.into_parts();
    (
        head.status.as_u16(),
        head.headers,
        body.collect().await.unwrap().to_bytes(),
    )
}

#[test]
fn a_client_may_speak_http2_in_clear_text() {
    // §4.1 says nothing of versions: every route works over both.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    runtime().block_on(async {
        let mut sender = connect(stack.gateway_addr).await;
        for (method, path, body) in [
            (Method::POST, CHAT, HELLO),
            (Method::POST, EMBEDDINGS, HELLO),
            (Method::GET, MODELS, ""),
        ] {
            let (status, headers, answer) =
                call(&mut sender, request(method, path, body, Some(KEY))).await;
            assert_eq!(
                (status, answer.as_ref()),
                (200, ANSWER.as_bytes()),
                "{path}"
            );
            assert!(headers.contains_key("x-request-id"));
            let sent = upstream.last();
            assert_eq!(sent.body, body.as_bytes());
            assert_eq!(
                sent.head.values("host"),
                [upstream.address().to_string().as_str()]
            );
            assert!(!sent.head.has("x-user-id") && !sent.head.has("x-monitor-api-key"));
        }
        let (status, _, answer) = call(&mut sender, request(Method::POST, CHAT, HELLO, None)).await;
        assert_eq!(status, 401);
        assert_envelope(&answer, "invalid_request_error", 401);
        let (status, _, answer) =
            call(&mut sender, request(Method::POST, CHAT, "{", Some(KEY))).await;
        assert_eq!(status, 400);
        assert_envelope(&answer, "invalid_request_error", 400);
        let (status, _, _) = call(&mut sender, request(Method::GET, "/docs", "", None)).await;
        assert_eq!(status, 200);
    });
    assert_eq!(upstream.heads(), 3);
}

#[test]
fn calls_beyond_the_descriptors_get_503_and_leave_some_for_the_rest() {
    // A hundred calls on one connection, each with a connection of its own to the upstream.
    let upstream = Upstream::scripted(|peer| {
        peer.read_request();
        peer.closed_within(PATIENCE);
    });
    let stack = Stack::gateway().upstream(&upstream);
    let stack = stack.under("ulimit -n 300").start();
    runtime().block_on(async {
        let sender = connect(stack.gateway_addr).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let mut sender = sender.clone();
            let call = async move {
                let hello = request(Method::POST, CHAT, HELLO, Some(KEY));
                call(&mut sender, hello).await
            };
            calls.spawn(call);
        }
        // (300 - 128) / 2 have a descriptor.
        for _ in 86..100 {
            let answered = tokio::time::timeout(PATIENCE, calls.join_next()).await;
            let (status, headers, body) = answered.expect("an answer").unwrap().unwrap();
            assert_eq!(
                (status, &headers["retry-after"]),
                (503, &"1".parse().unwrap())
            );
            assert_envelope(&body, "gateway_error", 503);
        }
        upstream.await_heads(86);
    });
    let refused = r#"monitor_overloaded_total{room="descriptors"}"#;
    assert_eq!(stack.metric(refused), 14.0);
    let contract = support::request::Request::get("/openapi.json");
    assert_eq!(stack.call(&contract).status(), 200);
}

#[test]
fn a_stream_over_http2_is_relayed_at_once() {
    // CONTRACT 18.
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::before(&upstream);
    runtime().block_on(async {
        let mut sender = connect(stack.gateway_addr).await;
        feed.send(SSE_HEAD);
        let response = sender
            .send_request(request(Method::POST, CHAT, HELLO_STREAM, Some(KEY)))
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        let mut body = response.into_body();
        for turn in 0..10 {
            let frame = delta(0, &turn.to_string());
            feed.chunk(&frame);
            let mut seen = Vec::new();
            while seen.len() < frame.len() {
                seen.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
            }
            assert_eq!(seen, frame.as_bytes());
        }
        feed.chunk(DONE);
        feed.end();
        assert_eq!(
            body.collect().await.unwrap().to_bytes().as_ref(),
            DONE.as_bytes()
        );
    });
}

#[test]
fn a_stream_reset_over_http2_lets_the_upstream_go_and_not_the_connection() {
    // CONTRACT 21 for HTTP/2, where the client leaves by RST_STREAM.
    let (upstream, feed) = Upstream::fed();
    let stack = Stack::before(&upstream);
    runtime().block_on(async {
        let mut sender = connect(stack.gateway_addr).await;
        feed.send(SSE_HEAD);
        let response = sender
            .send_request(request(Method::POST, CHAT, HELLO_STREAM, Some(KEY)))
            .await
            .unwrap();
        drop(response);
        let closed = tokio::task::spawn_blocking(move || {
            feed.closed_within(std::time::Duration::from_secs(1))
        })
        .await;
        assert!(closed.unwrap().is_some(), "the upstream is let go");
        let (status, _, _) =
            call(&mut sender, request(Method::GET, "/openapi.json", "", None)).await;
        assert_eq!(status, 200);
    });
}

#[test]
fn many_calls_share_one_http2_connection() {
    // One slow call holds up no other.
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    runtime().block_on(async {
        let sender = connect(stack.gateway_addr).await;
        let calls = (0..50).map(|_| {
            let mut sender = sender.clone();
            tokio::spawn(async move {
                call(&mut sender, request(Method::POST, CHAT, HELLO, Some(KEY)))
                    .await
                    .0
            })
        });
        for call in calls.collect::<Vec<_>>() {
            assert_eq!(call.await.unwrap(), 200);
        }
    });
    assert_eq!(upstream.heads(), 50);
}

/// What an HTTP/2 upstream was sent: the authority, the headers, the body.
type Sent = (String, HeaderMap, Bytes);

/// An upstream that speaks nothing but HTTP/2 in clear text.
fn http2_upstream(runtime: &Runtime) -> (SocketAddr, Receiver<Sent>) {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = channel();
    runtime.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let sender = sender.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                let sender = sender.clone();
                async move {
                    let (head, body) = request.into_parts();
                    let body = body.collect().await?.to_bytes();
                    let authority = head
                        .uri
                        .authority()
                        .map(ToString::to_string)
                        .unwrap_or_default();
                    let _ = sender.send((authority, head.headers, body.clone()));
                    let streams = String::from_utf8_lossy(&body).contains("\"stream\":true");
                    let (kind, text) = if streams {
                        ("text/event-stream", DONE)
                    } else {
                        ("application/json", ANSWER)
                    };
                    let response = Response::builder().header("content-type", kind);
                    Ok::<_, hyper::Error>(response.body(Full::new(Bytes::from(text))).unwrap())
                }
            });
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(server.serve_connection(TokioIo::new(socket), answer));
        }
    });
    (address, receiver)
}

/// An upstream over HTTP/2 that answers by the head alone and never reads a body.
pub(crate) fn http2_upstream_that(
    runtime: &Runtime,
    answer: fn(&Request<Incoming>) -> (u16, &'static str),
) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let service = service_fn(move |request: Request<Incoming>| async move {
                let (status, text) = answer(&request);
                let response = Response::builder().status(status);
                let response = response.header("content-type", "application/json");
                Ok::<_, hyper::Error>(response.body(Full::new(Bytes::from(text))).unwrap())
            });
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(server.serve_connection(TokioIo::new(socket), service));
        }
    });
    address
}

#[test]
fn an_upstream_may_speak_http2() {
    // `upstream.http2` of CONTRACT 34; §2.1, §2.3.
    let runtime = runtime();
    let (address, sent) = http2_upstream(&runtime);
    let stack = Stack::gateway()
        .env("UPSTREAM_URL", format!("http://{address}"))
        .yaml("upstream: {http2: always}")
        .start();
    use support::request::Request;
    for request in Request::every_endpoint() {
        let answer = stack.call(
            &request
                .header("X-User-Id", "stays-here")
                .header("Authorization", "Bearer up"),
        );
        assert_eq!((answer.status(), answer.text().as_str()), (200, ANSWER));
        let (authority, headers, _) = sent.recv().unwrap();
        assert_eq!(authority, address.to_string());
        assert_eq!(headers["authorization"], "Bearer up");
        assert!(!headers.contains_key("x-user-id") && !headers.contains_key("x-monitor-api-key"));
    }
    let body = format!(r#"{{"messages":[],"filler":"{}"}}"#, "z".repeat(3_000_000));
    assert_eq!(stack.call(&Request::chat(&body)).status(), 200);
    assert!(
        sent.recv().unwrap().2 == body.as_bytes(),
        "3 MB through the flow control"
    );
    let answer = stack.call(&Request::chat(HELLO_STREAM));
    assert_eq!(answer.text(), DONE);
    assert!(answer.complete && !answer.head.has("content-length"));
}

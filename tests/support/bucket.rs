//! An S3-compatible store as far as objects go: HEAD, GET, PUT, DELETE, and PUT in several parts. It
//! takes signed calls only and does not check the signature.

use super::server::{Peer, Received, Server};
use super::upstream::clear;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Objects = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// The store, with one bucket of any name.
pub struct Bucket {
    server: Server,
    objects: Objects,
    down: Arc<AtomicBool>,
}

impl Bucket {
    /// An empty one.
    pub fn start() -> Self {
        let (objects, down) = (Objects::default(), Arc::new(AtomicBool::new(false)));
        let (kept, is_down) = (objects.clone(), down.clone());
        let script = move |peer: &mut Peer| {
            while let Some(request) = peer.read_request() {
                let answer = match is_down.load(Ordering::SeqCst) {
                    true => answer(503, "", b"<Error><Code>SlowDown</Code></Error>"),
                    false => carry_out(&kept, &request),
                };
                peer.send(answer);
            }
        };
        Self {
            server: Server::start(Box::new(clear), Box::new(script)),
            objects,
            down,
        }
    }

    /// The variables that lead to it.
    pub fn env(&self) -> [(&'static str, String); 5] {
        [
            ("AWS_ENDPOINT", format!("http://{}", self.server.address)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "here".to_owned()),
            ("AWS_ACCESS_KEY_ID", "who".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "no-secret".to_owned()),
        ]
    }

    /// Keys and bytes of what it keeps.
    pub fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        self.objects.lock().unwrap().clone()
    }

    /// Answers 503 from now on, or no more.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::SeqCst);
    }
}

/// Parts of an upload are kept under the object's key, a question mark and the part's number.
fn carry_out(objects: &Objects, request: &Received) -> Vec<u8> {
    let line = &request.head.start_line;
    let method = line.split(' ').next().unwrap_or_default();
    let signed = request.head.header("authorization").unwrap_or_default();
    if !signed.starts_with("AWS4-HMAC-SHA256 Credential=who/") {
        return answer(403, "", b"<Error><Code>AccessDenied</Code></Error>");
    }
    let target = request.head.target().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let part = query
        .split('&')
        .find_map(|one| one.strip_prefix("partNumber="));
    let mut objects = objects.lock().unwrap();
    match (method, query, part) {
        ("POST", "uploads" | "uploads=", _) => answer(
            200,
            "",
            b"<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>",
        ),
        ("PUT", _, Some(part)) => {
            objects.insert(format!("{path}?{part:0>5}"), request.body.clone());
            answer(200, "ETag: \"part\"\r\n", b"")
        }
        ("POST", ..) => {
            let parts = format!("{path}?");
            let keys: Vec<String> = objects.keys().filter(|key| key.starts_with(&parts)).cloned().collect();
            let whole: Vec<u8> = keys.iter().flat_map(|key| objects.remove(key).unwrap()).collect();
            objects.insert(path.to_owned(), whole);
            answer(
                200,
                "",
                b"<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>",
            )
        }
        ("PUT", ..) => {
            objects.insert(path.to_owned(), request.body.clone());
            answer(200, "ETag: \"e\"\r\n", b"")
        }
        ("DELETE", ..) => {
            objects.remove(path);
            answer(204, "", b"")
        }
        ("HEAD" | "GET", ..) => match objects.get(path) {
            None => answer(404, "", b""),
            Some(bytes) => found(bytes, method == "GET"),
        },
        _ => answer(405, "", b""),
    }
}

fn found(bytes: &[u8], with_body: bool) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nETag: \"e\"\r\n\
         Last-Modified: Sat, 21 Nov 2026 08:00:00 GMT\r\n\r\n",
        bytes.len()
    )
    .into_bytes();
    if with_body {
        answer.extend(bytes);
    }
    answer
}

fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status} S\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

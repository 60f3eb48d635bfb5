//! Uploads of files, through the router of the analysis server over a store of its own. Any body ends in an answer
//! that is not the server's fault, and in the same one however it is cut into pieces. A file in a whole body is taken
//! with its bytes. The first bytes of the input say how to cut, and whether the rest is a body or a file's content.
#![no_main]

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use bytes::Bytes;
use futures_util::stream;
use libfuzzer_sys::fuzz_target;
use monitor_gateway::analysis::{Services, router};
use monitor_gateway::config::{CorsSettings, Overrides, Role, load};
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use std::sync::LazyLock;
use tokio::runtime::Runtime;
use tower_service::Service as _;

struct World {
    runtime: Runtime,
    router: Router,
    key: String,
    path: String,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let folder = std::env::temp_dir().join(format!("monitor-fuzz-multipart-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let (router, key, path) = runtime.block_on(start(&folder));
    World {
        runtime,
        router,
        key,
        path,
    }
});

/// A server with one record; its router, its key, and the address for files of the record.
async fn start(folder: &Path) -> (Router, String, String) {
    let settings = load(Role::Analysis, None, &Overrides::default(), &|_| None);
    let settings = settings.unwrap_or_else(|problems| panic!("{problems}")).analysis;
    let (services, first) = Services::open(&settings, folder).await.expect("a server");
    let router = router(services, CorsSettings::default());
    let key = first.access_key.expect("the first token").expose().to_owned();
    let message = json!({"application_id": first.application_id.to_string(), "message": "hello"});
    let request = Request::post("/process_request/")
        .header("authorization", format!("Bearer {key}"))
        .header("content-type", "application/json")
        .body(message.to_string().into());
    let (status, answer) = call(&router, request.expect("a request")).await;
    assert_eq!(status, 200, "{answer}");
    let id = answer["request_id"].as_str().expect("the id of the record");
    let path = format!("/user_prompt_analysis/{id}/attach_files");
    (router, key, path)
}

async fn call(router: &Router, request: Request<Body>) -> (u16, Value) {
    let answer = router.clone().call(request).await.expect("an answer");
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), usize::MAX).await.expect("a whole answer");
    (status, serde_json::from_slice(&body).expect("an answer in JSON"))
}

impl World {
    /// The answer to a body that arrives in pieces of so many bytes.
    fn upload(&self, body: &[u8], piece: usize) -> (u16, Value) {
        let pieces = body.chunks(piece.max(1)).map(Bytes::copy_from_slice);
        let pieces: Vec<io::Result<Bytes>> = pieces.map(Ok).collect();
        let request = Request::post(&self.path)
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "multipart/form-data; boundary=b")
            .body(Body::from_stream(stream::iter(pieces)));
        self.runtime.block_on(call(&self.router, request.expect("a request")))
    }
}

fuzz_target!(|input: &[u8]| {
    let Some(([piece, is_content], rest)) = input.split_first_chunk() else {
        return;
    };
    let is_file = is_content & 1 == 1 && !rest.windows(5).any(|five| five == b"\r\n--b");
    let body = match is_file {
        true => {
            let head: &[u8] = b"--b\r\nContent-Disposition: form-data; name=\"attached_files\"; filename=\"f\"\r\n\
                Content-Type: application/octet-stream\r\n\r\n";
            [head, rest, b"\r\n--b--\r\n"].concat()
        }
        false => rest.to_vec(),
    };
    let whole = WORLD.upload(&body, body.len());
    let cut = WORLD.upload(&body, usize::from(*piece));
    assert!(whole.0 < 500, "{whole:?}");
    assert_eq!(whole, cut, "the same body in pieces");
    if is_file {
        assert_eq!((whole.0, &whole.1[0]["size"]), (200, &json!(rest.len())), "{whole:?}");
    }
});

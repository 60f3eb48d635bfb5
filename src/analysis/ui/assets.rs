//! The UI's own files, built into the program: one style sheet, one script, one icon. Their addresses
//! hold a hash of their contents, so that a browser keeps them until they change.

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use std::io::Write as _;
use std::sync::LazyLock;

const FILES: [(&str, &str, &str); 3] = [
    (
        "app.css",
        "text/css; charset=utf-8",
        concat!(
            include_str!("assets/app.css"),
            include_str!("assets/dialogs.css"),
            include_str!("assets/admin.css"),
            include_str!("assets/narrow.css")
        ),
    ),
    (
        "app.js",
        "text/javascript; charset=utf-8",
        concat!(
            include_str!("assets/app.js"),
            include_str!("assets/records.js"),
            include_str!("assets/comfort.js")
        ),
    ),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    FILES.iter().for_each(|(_, _, text)| hash.update(text));
    URL_SAFE_NO_PAD.encode(&hash.finalize()[..9])
});

static COMPRESSED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let compressed = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes()).ok()?;
        encoder.finish().ok()
    };
    let all = FILES
        .iter()
        .map(|(_, _, text)| compressed(text).unwrap_or_default());
    all.collect()
});

/// The address of a file.
pub(super) fn address(file: &str) -> String {
    format!("/ui/assets/{}/{file}", *VERSION)
}

pub(super) async fn file(Path((_, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    let Some(at) = FILES.iter().position(|(file, ..)| *file == name) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let (_, kind, text) = FILES[at];
    let fixed = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::VARY, "accept-encoding"),
    ];
    let accepted = headers.get(header::ACCEPT_ENCODING);
    let takes_gzip = accepted.is_some_and(|list| list.to_str().is_ok_and(|l| l.contains("gzip")));
    match COMPRESSED
        .get(at)
        .filter(|bytes| takes_gzip && !bytes.is_empty())
    {
        Some(bytes) => {
            let encoding = [(header::CONTENT_ENCODING, "gzip")];
            (fixed, encoding, bytes.clone()).into_response()
        }
        None => (fixed, text).into_response(),
    }
}

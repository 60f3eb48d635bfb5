//! The analysis API's OpenAPI 3.1 document (CONTRACT 27 to 30, 38), written by hand in `openapi.json`.
//! The tests hold it to the router's own routes.

/// The document, JSON in UTF-8.
pub fn openapi_json() -> &'static [u8] {
    include_bytes!("openapi.json")
}

//! `GET /`: says where the API is, for people who open the port in a browser.

use axum::http::header;
use axum::response::{Html, IntoResponse};

const PAGE: &str = "<!doctype html>
<html lang=\"en\"><meta charset=\"utf-8\"><title>Monitor analysis API</title>
<h1>Monitor analysis API</h1>
<p>Each call carries <code>Authorization: Bearer &lt;API_TOKEN&gt;</code>.</p>
<ul>
<li><code>POST /process_request/</code> analyses a user message</li>
<li><code>POST /process_response/</code> analyses a model response</li>
<li><code>GET /records</code> lists what was analysed</li>
<li><code>GET /records/{request_id}</code> shows one record</li>
<li><code>POST /records/{request_id}/explain</code> judges one again by the rules of its time</li>
<li><code>GET /sessions</code>, <code>/statistics</code> and <code>/records/export</code> sum them up</li>
<li><code>/applications</code>, <code>/tokens</code> and <code>/audit</code> administer</li>
<li><a href=\"docs\">/docs</a>, <a href=\"redoc\">/redoc</a> and <a href=\"openapi.json\">/openapi.json</a>
describe it all</li>
</ul>
</html>
";

pub(super) async fn page() -> impl IntoResponse {
    (
        [(header::CONTENT_SECURITY_POLICY, "default-src 'none'")],
        Html(PAGE),
    )
}

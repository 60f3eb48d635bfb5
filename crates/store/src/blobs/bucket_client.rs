//! The HTTP client of `object_store`, built on hyper and rustls with the system's certificates, which the program
//! uses anyway. Signing and retries are done by the crate.

use async_trait::async_trait;
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector as Tcp;
use hyper_util::client::legacy::{Client, Error as CallError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::client::{
    ClientConfigKey, ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind,
    HttpRequest, HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
};
use std::time::Duration;
use tokio::time::timeout;

/// How long an idle connection stays open.
const POOL_IDLE: Duration = Duration::from_secs(30);
/// The longest time from the start of a request to the head of its response.
const ANSWER: Duration = Duration::from_secs(60);
/// The longest pause within a response body.
const SILENCE: Duration = Duration::from_secs(30);

/// Creates the client that `object_store` uses.
#[derive(Debug)]
pub(super) struct Connector;

#[derive(Debug)]
struct Caller(Client<HttpsConnector<Tcp>, HttpRequestBody>);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = Tcp::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let roots = HttpsConnectorBuilder::new().with_native_roots();
        let roots = roots.map_err(|error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        })?;
        let allow_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let https = match allow_http.as_deref() {
            Some("true") => roots.https_or_http(),
            _ => roots.https_only(),
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .build(https.enable_http1().wrap_connector(tcp));
        Ok(HttpClient::new(Caller(client)))
    }
}

#[async_trait]
impl HttpService for Caller {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answered = timeout(ANSWER, self.0.request(request)).await;
        let late = |error| HttpError::new(HttpErrorKind::Timeout, error);
        let (head, body) = answered.map_err(late)?.map_err(failed)?.into_parts();
        Ok(HttpResponse::from_parts(head, bounded(body)))
    }
}

fn failed(error: CallError) -> HttpError {
    let kind = match error.is_connect() {
        true => HttpErrorKind::Connect,
        false => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, error)
}

/// A body that fails when the server pauses for too long.
fn bounded(body: Incoming) -> HttpResponseBody {
    let frames = stream::unfold(Some(body), async |body| {
        let mut body = body?;
        let next = match timeout(SILENCE, body.frame()).await {
            Ok(next) => next?.map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error)),
            Err(late) => Err(HttpError::new(HttpErrorKind::Timeout, late)),
        };
        let next: Result<Frame<bytes::Bytes>, HttpError> = next;
        let rest = next.is_ok().then_some(body);
        Some((next, rest))
    });
    HttpResponseBody::new(StreamBody::new(frames.fuse()))
}

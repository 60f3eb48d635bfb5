//! The table of endpoints (§4.1, CONTRACT 9): method and path to route, and nothing else exists.

use super::docs::{self, Asset};
use crate::observe::RouteLabel;
use http::Method;

/// What a request asks for.
pub(crate) enum Route {
    /// POST /v1/chat/completions: the monitored exchange.
    Chat,
    /// POST /v1/embeddings: transparent.
    Embeddings,
    /// GET /v1/models: transparent.
    Models,
    /// The contract and its documentation: no key needed.
    Docs(Asset),
    /// The path exists, the method does not fit; the value of `Allow`.
    WrongMethod {
        /// Methods the path knows.
        allow: &'static str,
        /// Under /v1 a missing key is said first.
        needs_key: bool,
    },
    /// No such path.
    Unknown {
        /// Under /v1 a missing key is said first.
        needs_key: bool,
    },
}

impl Route {
    /// Looks a request up. `path` is compared as it stands: no decoding, no normalising, so there
    /// is no second reading of it.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        match (path, method) {
            ("/v1/chat/completions", &Method::POST) => Self::Chat,
            ("/v1/chat/completions", _) => Self::WrongMethod {
                allow: "POST",
                needs_key: true,
            },
            ("/v1/embeddings", &Method::POST) => Self::Embeddings,
            ("/v1/embeddings", _) => Self::WrongMethod {
                allow: "POST",
                needs_key: true,
            },
            ("/v1/models", &Method::GET) => Self::Models,
            ("/v1/models", _) => Self::WrongMethod {
                allow: "GET",
                needs_key: true,
            },
            _ => Self::document(method, path),
        }
    }

    fn document(method: &Method, path: &str) -> Self {
        match docs::find(path) {
            Some(asset) if *method == Method::GET || *method == Method::HEAD => Self::Docs(asset),
            Some(_) => Self::WrongMethod {
                allow: "GET, HEAD",
                needs_key: false,
            },
            None => Self::Unknown {
                needs_key: path == "/v1" || path.starts_with("/v1/"),
            },
        }
    }

    /// Whether §5 asks for an access key.
    pub(crate) fn needs_key(&self) -> bool {
        match self {
            Self::Chat | Self::Embeddings | Self::Models => true,
            Self::Docs(_) => false,
            Self::WrongMethod { needs_key, .. } | Self::Unknown { needs_key } => *needs_key,
        }
    }

    /// The label in metrics and the access line.
    pub(crate) fn label(&self) -> RouteLabel {
        match self {
            Self::Chat => RouteLabel::Chat,
            Self::Embeddings => RouteLabel::Embeddings,
            Self::Models => RouteLabel::Models,
            Self::Docs(_) => RouteLabel::Docs,
            Self::WrongMethod { .. } | Self::Unknown { .. } => RouteLabel::Other,
        }
    }
}

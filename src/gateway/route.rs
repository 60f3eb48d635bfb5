//! The table of endpoints (§4.1, CONTRACT 9), from method and path to route. Anything else is refused.

use super::docs::{self, Asset};
use crate::edge::meant_path::ModelPath;
use crate::observe::RouteLabel;
use http::Method;

/// The path of the monitored route.
pub(super) const CHAT_PATH: &str = "/v1/chat/completions";

/// The route of a request.
pub(crate) enum Route {
    /// POST /v1/chat/completions: the monitored exchange.
    Chat,
    /// POST /v1/embeddings: transparent.
    Embeddings,
    /// GET /v1/models: transparent.
    Models,
    /// The OpenAPI document and its pages, without an access key.
    Docs(Asset),
    /// A browser asks whether a listed website may call a path with these methods.
    Preflight(&'static str),
    /// The path exists, but not with this method.
    WrongMethod {
        /// The path's methods, as the value of `Allow`.
        allow: &'static str,
        /// Under /v1 a missing access key is reported first.
        needs_key: bool,
    },
    /// No route has this path.
    Unknown {
        /// Under /v1 a missing access key is reported first.
        needs_key: bool,
        suggestion: Option<ModelPath>,
    },
}

impl Route {
    /// Finds the route of a request. `path` is compared byte for byte, without decoding or normalization, so
    /// that it has one meaning only.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        match (path, method) {
            (CHAT_PATH, &Method::POST) => Self::Chat,
            (CHAT_PATH, _) => Self::WrongMethod {
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
                suggestion: ModelPath::meant_by(path),
            },
        }
    }

    /// Whether §5 requires an access key.
    pub(crate) fn needs_key(&self) -> bool {
        match self {
            Self::Chat | Self::Embeddings | Self::Models => true,
            Self::Docs(_) | Self::Preflight(_) => false,
            Self::WrongMethod { needs_key, .. } | Self::Unknown { needs_key, .. } => *needs_key,
        }
    }

    /// The label in metrics and the access line.
    pub(crate) fn label(&self) -> RouteLabel {
        match self {
            Self::Chat => RouteLabel::Chat,
            Self::Embeddings => RouteLabel::Embeddings,
            Self::Models => RouteLabel::Models,
            Self::Docs(_) => RouteLabel::Docs,
            Self::Preflight(_) | Self::WrongMethod { .. } | Self::Unknown { .. } => {
                RouteLabel::Other
            }
        }
    }
}

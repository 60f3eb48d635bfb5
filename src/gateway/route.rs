//! The table of endpoints (§4.1, CONTRACT 9), from method and path to route. Anything else is refused.

use super::docs::{self, Asset};
use crate::observe::RouteLabel;
use http::Method;

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
        suggestion: Option<Suggestion>,
    },
}

/// What an unknown path was probably meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suggestion {
    /// This path, with a base URL that lacks `/v1`, has it twice, or has something else around it.
    Path(&'static str),
    /// An API of model servers that the gateway does not forward, by its name.
    OtherApi(&'static str),
}

impl Suggestion {
    fn by(path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        let is = |end: &&(&str, Self)| path.ends_with(end.0);
        let found = Self::ENDS.iter().find(is);
        found.map(|(_, suggestion)| *suggestion)
    }

    const ENDS: [(&'static str, Self); 7] = [
        ("/chat/completions", Self::Path("/v1/chat/completions")),
        ("/embeddings", Self::Path("/v1/embeddings")),
        ("/models", Self::Path("/v1/models")),
        ("/responses", Self::OtherApi("Responses")),
        ("/messages", Self::OtherApi("Messages")),
        ("/completions", Self::OtherApi("legacy Completions")),
        ("/api/chat", Self::OtherApi("native Ollama")),
    ];
}

impl Route {
    /// Finds the route of a request. `path` is compared byte for byte, without decoding or normalization, so
    /// that it has one meaning only.
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
                suggestion: Suggestion::by(path),
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

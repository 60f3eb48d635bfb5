//! The table of endpoints (§4.1, CONTRACT 9), from method and path to route. Anything else is refused.

use super::docs::{self, Asset};
use crate::edge::meant_path::ModelPath;
use crate::observe::RouteLabel;
use http::Method;
use monitor_wire::protocol::{Chat, Completions, Messages, Protocol, Responses};

/// A path whose calls are monitored: read, recorded and, where a policy says so, checked.
pub(crate) struct Monitored {
    pub(crate) path: &'static str,
    pub(crate) protocol: &'static dyn Protocol,
    pub(crate) label: RouteLabel,
}

/// The monitored paths. The first one is what errors look like outside all of them.
pub(crate) static MONITORED: [Monitored; 4] = [
    Monitored {
        path: "/v1/chat/completions",
        protocol: &Chat,
        label: RouteLabel::Chat,
    },
    Monitored {
        path: "/v1/responses",
        protocol: &Responses,
        label: RouteLabel::Responses,
    },
    Monitored {
        path: "/v1/messages",
        protocol: &Messages,
        label: RouteLabel::Messages,
    },
    Monitored {
        path: "/v1/completions",
        protocol: &Completions,
        label: RouteLabel::Completions,
    },
];

/// The route of a request.
pub(crate) enum Route {
    /// POST of a monitored path.
    Monitored(&'static Monitored),
    /// POST /v1/embeddings: transparent.
    Embeddings,
    /// GET /v1/models: transparent.
    Models,
    /// A path below a monitored one: transparent.
    Below(Below, RouteLabel),
    /// The OpenAPI document and its pages, without an access key.
    Docs(Asset),
    /// A browser asks whether a listed website may call a path with these methods.
    Preflight(&'static str),
    /// A client asks to go on by WebSocket, which no monitored path does.
    WebSocket,
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

/// What a path below a monitored one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Below {
    /// It has the text of a prompt in its body, which is read only to redact it.
    Prompt,
    /// It delivers an answer that the model server keeps, which nobody reads.
    Answer,
    /// It delivers an answer that is recorded, and that nobody checks.
    Recorded,
    /// It names something else that the model server keeps.
    Stored,
}

impl Route {
    /// Finds the route of a request. `path` is compared byte for byte, without decoding or normalization, so
    /// that it has one meaning only.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        let wrong = |allow| Self::WrongMethod {
            allow,
            needs_key: true,
        };
        if let Some(monitored) = MONITORED.iter().find(|monitored| monitored.path == path) {
            return match *method {
                Method::POST => Self::Monitored(monitored),
                _ => wrong("POST"),
            };
        }
        match (path, method) {
            ("/v1/embeddings", &Method::POST) => Self::Embeddings,
            ("/v1/embeddings", _) => wrong("POST"),
            ("/v1/models", &Method::GET) => Self::Models,
            ("/v1/models", _) => wrong("GET"),
            _ => match below(path) {
                Some((below, methods)) if methods.contains(&method.as_str()) => {
                    let label = match path.starts_with("/v1/messages/") {
                        true => RouteLabel::MessagesBelow,
                        false => RouteLabel::ResponsesBelow,
                    };
                    let below = match *method {
                        Method::DELETE => Below::Stored,
                        _ => below,
                    };
                    Self::Below(below, label)
                }
                Some((_, ["POST"])) => wrong("POST"),
                Some((_, ["GET"])) => wrong("GET"),
                Some(_) => wrong("GET, DELETE"),
                None => Self::document(method, path),
            },
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
            Self::Monitored(_) | Self::Embeddings | Self::Models | Self::Below(..) => true,
            Self::Docs(_) | Self::Preflight(_) | Self::WebSocket => false,
            Self::WrongMethod { needs_key, .. } | Self::Unknown { needs_key, .. } => *needs_key,
        }
    }

    /// Whether a call by this method to this path, which is the route's, has a model answer a prompt. Counting its tokens
    /// is free, and the list of batches has none.
    pub(crate) fn asks_model(&self, method: &Method, path: &str) -> bool {
        match self {
            Self::Monitored(_) | Self::Embeddings => true,
            Self::Below(Below::Prompt, _) => *method == Method::POST && !counts_tokens(path),
            _ => false,
        }
    }

    /// The label in metrics and the access line.
    pub(crate) fn label(&self) -> RouteLabel {
        match self {
            Self::Monitored(monitored) => monitored.label,
            Self::Embeddings => RouteLabel::Embeddings,
            Self::Models => RouteLabel::Models,
            Self::Below(_, label) => *label,
            Self::Docs(_) => RouteLabel::Docs,
            Self::Preflight(_)
            | Self::WebSocket
            | Self::WrongMethod { .. }
            | Self::Unknown { .. } => RouteLabel::Other,
        }
    }
}

/// Whether a path below a monitored one counts the tokens of a prompt.
pub(crate) fn counts_tokens(path: &str) -> bool {
    path.ends_with("_tokens")
}

/// The API that the client of a path speaks, which says what errors look like.
pub(crate) fn protocol_of(path: &str) -> &'static dyn Protocol {
    let is_of = |monitored: &&Monitored| {
        let rest = path.strip_prefix(monitored.path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let found = MONITORED.iter().find(is_of);
    found.unwrap_or(&MONITORED[0]).protocol
}

/// The paths below monitored ones that official clients call, and their methods.
fn below(path: &str) -> Option<(Below, &'static [&'static str])> {
    if let Some(rest) = path.strip_prefix("/v1/messages/") {
        return Some(match segments(rest)?.as_slice() {
            ["count_tokens"] => (Below::Prompt, &["POST"]),
            // Also lists those that there are.
            ["batches"] => (Below::Prompt, &["GET", "POST"]),
            ["batches", _] => (Below::Stored, &["GET", "DELETE"]),
            ["batches", _, "results"] => (Below::Answer, &["GET"]),
            ["batches", _, "cancel"] => (Below::Stored, &["POST"]),
            _ => return None,
        });
    }
    let rest = path.strip_prefix("/v1/responses/")?;
    Some(match segments(rest)?.as_slice() {
        ["input_tokens" | "compact"] => (Below::Prompt, &["POST"]),
        [_] => (Below::Recorded, &["GET", "DELETE"]),
        [_, "input_items"] => (Below::Answer, &["GET"]),
        [_, "cancel"] => (Below::Recorded, &["POST"]),
        _ => return None,
    })
}

/// The segments of a path, of which each is a word of letters, digits, `_` and `-`: what any reader takes it for.
fn segments(path: &str) -> Option<Vec<&str>> {
    let is_word = |segment: &&str| {
        let mut bytes = segment.bytes();
        !segment.is_empty()
            && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    let segments: Vec<&str> = path.splitn(4, '/').collect();
    segments.iter().all(is_word).then_some(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_tokens_and_listing_batches_ask_no_model() {
        for (method, path, expected) in [
            (Method::POST, "/v1/chat/completions", true),
            (Method::POST, "/v1/embeddings", true),
            (Method::POST, "/v1/messages/batches", true),
            (Method::POST, "/v1/responses/compact", true),
            (Method::GET, "/v1/messages/batches", false),
            (Method::POST, "/v1/messages/count_tokens", false),
            (Method::POST, "/v1/responses/input_tokens", false),
            (Method::GET, "/v1/responses/resp_0", false),
            (Method::GET, "/v1/models", false),
        ] {
            let asks = Route::of(&method, path).asks_model(&method, path);
            assert_eq!(asks, expected, "{method} {path}");
        }
    }

    #[test]
    fn a_path_below_a_monitored_one_is_known_by_its_words() {
        let known = |method: Method, path| match Route::of(&method, path) {
            Route::Below(below, _) => Some(below),
            _ => None,
        };
        for (method, path, expected) in [
            (
                Method::POST,
                "/v1/responses/input_tokens",
                Some(Below::Prompt),
            ),
            (Method::POST, "/v1/responses/compact", Some(Below::Prompt)),
            (Method::GET, "/v1/responses/resp_0-a", Some(Below::Recorded)),
            (Method::DELETE, "/v1/responses/resp_0", Some(Below::Stored)),
            (Method::POST, "/v1/responses/resp_0", None),
            (
                Method::POST,
                "/v1/responses/resp_0/cancel",
                Some(Below::Recorded),
            ),
            (
                Method::GET,
                "/v1/responses/resp_0/input_items",
                Some(Below::Answer),
            ),
            (Method::GET, "/v1/responses/resp_0/other", None),
            (Method::GET, "/v1/responses/", None),
            (Method::GET, "/v1/responses/..", None),
            (Method::GET, "/v1/responses/%2e%2e", None),
            (
                Method::POST,
                "/v1/messages/count_tokens",
                Some(Below::Prompt),
            ),
            (Method::POST, "/v1/messages/batches", Some(Below::Prompt)),
            (
                Method::GET,
                "/v1/messages/batches/b/results",
                Some(Below::Answer),
            ),
            (Method::GET, "/v1/messages/batches/b/results/x", None),
            (Method::POST, "/v1/chat/completions/x", None),
        ] {
            assert_eq!(known(method.clone(), path), expected, "{method} {path}");
        }
    }

    #[test]
    fn errors_have_the_form_of_the_path() {
        for (path, expected) in [
            ("/v1/messages", "Messages"),
            ("/v1/messages/count_tokens", "Messages"),
            ("/v1/messagesx", "Chat"),
            ("/v1/responses/x", "Responses"),
            ("/v1/completions", "Completions"),
            ("/", "Chat"),
        ] {
            assert_eq!(format!("{:?}", protocol_of(path)), expected, "{path}");
        }
    }
}

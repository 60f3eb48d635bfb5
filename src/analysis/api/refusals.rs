//! How the OpenAPI document describes refusals: one response for each status, with an example.

use monitor_model::{ErrorEnvelope, ErrorType};
use serde_json::json;
use std::collections::BTreeMap;
use utoipa::IntoResponses;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

/// The refusals of one status.
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) name: &'static str,
    description: &'static str,
    /// Name and component of its header.
    header: Option<(&'static str, &'static str)>,
    message: &'static str,
}

/// All of them, by status.
pub(super) const REFUSALS: [Refusal; 14] = [
    Refusal {
        status: 400,
        name: "BadRequest",
        description: "The body is not JSON, or not what Content-Encoding says; for files, it is not multipart/form-data or incomplete; or a header that has one value has different ones.",
        header: None,
        message: "the body is not JSON, see line 1 column 9",
    },
    Refusal {
        status: 401,
        name: "Unauthorized",
        description: "No token, or one that is unknown, expired or revoked.",
        header: Some(("WWW-Authenticate", "WWW-Authenticate")),
        message: "the access token is unknown, expired or revoked",
    },
    Refusal {
        status: 403,
        name: "Forbidden",
        description: "The token lacks the scope or is bound to another application.",
        header: None,
        message: "the access token does not have the scope `admin`",
    },
    Refusal {
        status: 404,
        name: "NotFound",
        description: "It does not exist, or the token cannot see it.",
        header: None,
        message: "not found",
    },
    Refusal {
        status: 405,
        name: "MethodNotAllowed",
        description: "The path does not support this method.",
        header: Some(("Allow", "Allow")),
        message: "this path does not support this method",
    },
    Refusal {
        status: 408,
        name: "TooSlow",
        description: "The body did not keep arriving (`limits.header_timeout`).",
        header: None,
        message: "the request body did not arrive in time",
    },
    Refusal {
        status: 409,
        name: "Conflict",
        description: "The current state does not allow it.",
        header: Some(("ETag", "LatestETag")),
        message: "version: the application is now at version 2; read it and repeat the change",
    },
    Refusal {
        status: 413,
        name: "TooLarge",
        description: "Too large: a body over the configured size (once decoded, if it is compressed) or one that expands to more than 200 times its size, an administrative one over 1 MiB, a batch over 1,000 \
                      lines, a file or the number of files over its limit.",
        header: None,
        message: "the body is larger than 4194304 bytes",
    },
    Refusal {
        status: 415,
        name: "NotJson",
        description: "Content-Type is not JSON; for a batch not NDJSON, for files not multipart/form-data. Or Content-Encoding is not one of gzip, deflate, br and zstd; for files, there is one.",
        header: None,
        message: "the body must be JSON in UTF-8: send `Content-Type: application/json`",
    },
    Refusal {
        status: 422,
        name: "Unprocessable",
        description: "Fields or parameters are wrong; all of them are named.",
        header: None,
        message: "limit: must be an integer from 1 to 200",
    },
    Refusal {
        status: 428,
        name: "VersionMissing",
        description: "The version the change was made from is missing.",
        header: None,
        message: "version: missing; send the version the change was made from, or its ETag as If-Match",
    },
    Refusal {
        status: 429,
        name: "TooMany",
        description: "The token has reached its rate limit.",
        header: Some(("Retry-After", "Retry-After")),
        message: "more than 100 requests per second with this access token: try again later",
    },
    Refusal {
        status: 500,
        name: "Failed",
        description: "The analysis failed, or a constraint of the store refuses a change.",
        header: None,
        message: "the analysis failed",
    },
    Refusal {
        status: 503,
        name: "StoreDown",
        description: "The store is not available, too many messages wait to be analyzed, or the memory for requests is exhausted; nothing was recorded.",
        header: Some(("Retry-After", "Retry-After")),
        message: "the store is not available, nothing was recorded: try again",
    },
];

/// The types of these errors, in the order of their statuses.
pub(super) fn kinds() -> impl Iterator<Item = ErrorType> {
    let mut kinds: Vec<_> = REFUSALS.iter().map(Refusal::kind).collect();
    kinds.dedup();
    kinds.into_iter()
}

impl Refusal {
    fn kind(&self) -> ErrorType {
        match self.status {
            ..500 => ErrorType::InvalidRequestError,
            _ => ErrorType::ServerError,
        }
    }

    /// The response of this status.
    pub(super) fn response(&self) -> Response {
        let mut content = Content::new(Some(Ref::from_schema_name("Error")));
        content.example = Some(json!(ErrorEnvelope::new(
            self.kind(),
            self.status,
            self.message
        )));
        let mut response = ResponseBuilder::new()
            .description(self.description)
            .content("application/json", content)
            .build();
        if let Some((header, component)) = self.header {
            let component = Ref::new(format!("#/components/headers/{component}"));
            response
                .headers
                .insert(header.to_owned(), RefOr::Ref(component));
        }
        response
    }
}

/// References to the refusals of these statuses.
pub(super) fn references(statuses: &[u16]) -> BTreeMap<String, RefOr<Response>> {
    let named = REFUSALS
        .iter()
        .filter(|refusal| statuses.contains(&refusal.status));
    let reference = |refusal: &Refusal| Ref::from_response_name(refusal.name).into();
    named
        .map(|refusal| (refusal.status.to_string(), reference(refusal)))
        .collect()
}

/// The state of something does not allow the call.
pub(super) struct Conflict;

/// A body is not what it must be.
pub(super) struct BodyRefused;

impl IntoResponses for Conflict {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        references(&[409])
    }
}

impl IntoResponses for BodyRefused {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        references(&[400, 408, 413, 415, 422])
    }
}

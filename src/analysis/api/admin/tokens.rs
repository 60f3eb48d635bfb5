//! `/tokens`, `/tokens/{id}` and `/tokens/{id}/rotate` (CONTRACT 30), scope admin. The value of a token is
//! in the answer that creates it and in no other.

use crate::analysis::admin::tokens::{TokenEdit, names, read_position, show_position};
use crate::analysis::api::extract::{
    Admin, Api, Body, Fields, OptionalBody, PathId, Query, ReadFields,
};
use crate::analysis::api::refusals::Conflict;
use crate::analysis::api::response::{self, Outcome};
use crate::analysis::api::schemas;
use crate::analysis::{CreatedToken, Expiry, NewToken, Rotation};
use axum::extract::State;
use axum::http::StatusCode;
use monitor_model::ApplicationId;
use monitor_store::{Scope, Scopes, Token, TokenId};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Serialize, ToSchema)]
#[schema(as = TokenList)]
struct List<'a> {
    tokens: Vec<View<'a>>,
    /// `before` of the next page; null on the last one.
    next_before: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Token)]
struct View<'a> {
    id: Uuid,
    name: &'a str,
    #[schema(value_type = Vec<Scope>)]
    scopes: Vec<&'static str>,
    application_id: Option<ApplicationId>,
    /// Milliseconds since 1970.
    created_at_ms: i64,
    /// Milliseconds since 1970.
    expires_at_ms: Option<i64>,
    /// Milliseconds since 1970.
    revoked_at_ms: Option<i64>,
    /// Accurate to the minute.
    last_used_at_ms: Option<i64>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = MadeToken)]
struct Made<'a> {
    #[serde(flatten)]
    token: View<'a>,
    /// Shown this once.
    value: &'a str,
}

impl ReadFields for NewToken {
    fn read(fields: &mut Fields) -> Self {
        let name = fields.text("name");
        let scopes = scopes(fields);
        let application_id = application(fields);
        let expiry = expiry(fields);
        if name.is_none() {
            fields.refuse("name", "must be text of 1 to 200 characters");
        }
        Self {
            name: name.unwrap_or_default(),
            scopes: scopes.unwrap_or(Scopes::of(&[])),
            application_id,
            expiry: expiry.unwrap_or(Expiry::Never),
        }
    }
}

impl ReadFields for TokenEdit {
    fn read(fields: &mut Fields) -> Self {
        Self {
            name: fields.text("name"),
            expiry: expiry(fields),
        }
    }
}

impl ReadFields for Rotation {
    fn read(fields: &mut Fields) -> Self {
        Self {
            grace: fields.duration("grace").unwrap_or_default(),
            expiry: expiry(fields),
        }
    }
}

/// List tokens, the newest first
#[utoipa::path(
    get,
    path = "/tokens",
    operation_id = "listTokens",
    description = "Scope: admin.",
    tag = "tokens",
    params(schemas::ApplicationFilter, schemas::TokenPage, schemas::Limit),
    responses((status = 200, description = "One page, including expired and revoked tokens.", body = List)),
)]
pub(crate) async fn list(State(services): Api, Admin(caller): Admin, mut query: Query) -> Outcome {
    let uuid = |text: &str| text.parse().ok();
    let application = query.typed("application_id", "must be a UUID", uuid)?;
    let problem = "must be the next_before of the previous page";
    let before = query.typed("before", problem, read_position)?;
    let limit = query.limit()?;
    query.finish()?;
    let page = services
        .admin
        .list_tokens(&caller, application, before, limit);
    let (tokens, next) = page.await?;
    let list = List {
        tokens: tokens.iter().map(View::from).collect(),
        next_before: next.map(show_position),
    };
    response::unstored(StatusCode::OK, &list)
}

/// Create a token
///
/// Scope: admin, and the scopes of the new token.
#[utoipa::path(
    post,
    path = "/tokens",
    operation_id = "createToken",
    tag = "tokens",
    request_body = schemas::NewToken,
    responses((status = 201, description = "The token with its value.", body = Made, headers(("Location")))),
)]
pub(crate) async fn create(
    State(services): Api,
    Admin(caller): Admin,
    Body(new): Body<NewToken>,
) -> Outcome {
    made(&services.admin.create_token(&caller, new).await?)
}

/// Show a token
#[utoipa::path(
    get,
    path = "/tokens/{id}",
    operation_id = "getToken",
    description = "Scope: admin.",
    tag = "tokens",
    params(schemas::TokenPath),
    responses((status = 200, description = "The token.", body = View)),
)]
pub(crate) async fn one(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    shown(&services.admin.find_token(&caller, TokenId(id)).await?)
}

/// Change a token's name or end
#[utoipa::path(
    patch,
    path = "/tokens/{id}",
    operation_id = "changeToken",
    description = "Scope: admin.",
    tag = "tokens",
    params(schemas::TokenPath),
    request_body = schemas::ChangeToken,
    responses((status = 200, description = "The result.", body = View)),
)]
pub(crate) async fn change(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<Uuid>,
    Body(edit): Body<TokenEdit>,
) -> Outcome {
    let changed = services.admin.change_token(&caller, TokenId(id), edit);
    shown(&changed.await?)
}

/// Revoke a token
#[utoipa::path(
    delete,
    path = "/tokens/{id}",
    operation_id = "revokeToken",
    description = "Scope: admin.",
    tag = "tokens",
    params(schemas::TokenPath),
    responses((status = 200, description = "The revoked token. It stays in lists.", body = View)),
)]
// DELETE revokes; the token stays in lists.
pub(crate) async fn revoke(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<Uuid>,
) -> Outcome {
    shown(&services.admin.revoke_token(&caller, TokenId(id)).await?)
}

/// Replace a token by a new one
///
/// Scope: admin, and the scopes of the token.
#[utoipa::path(
    post,
    path = "/tokens/{id}/rotate",
    operation_id = "rotateToken",
    tag = "tokens",
    params(schemas::TokenPath),
    request_body = Option<schemas::Rotation>,
    responses(
        (
            status = 201,
            description = "The new token with its value.",
            body = Made,
            headers(("Location")),
        ),
        Conflict,
    ),
)]
pub(crate) async fn rotate(
    State(services): Api,
    Admin(caller): Admin,
    PathId(id): PathId<Uuid>,
    OptionalBody(rotation): OptionalBody<Rotation>,
) -> Outcome {
    let rotated = services.admin.rotate_token(&caller, TokenId(id), rotation);
    made(&rotated.await?)
}

fn shown(token: &Token) -> Outcome {
    response::unstored(StatusCode::OK, &View::from(token))
}

/// A token as this API shows it, for other outputs.
pub fn token_json(token: &Token) -> Value {
    json!(View::from(token))
}

fn made(made: &CreatedToken) -> Outcome {
    let view = Made {
        token: View::from(&made.token),
        value: made.value.expose(),
    };
    let response = response::unstored(StatusCode::CREATED, &view)?;
    Ok(response::located(
        response,
        &format!("/tokens/{}", made.token.id.0),
    ))
}

/// The application; missing and null are the same: that of the maker, else none.
fn application(fields: &mut Fields) -> Option<ApplicationId> {
    let id = fields.typed(
        "application_id",
        "must be a UUID or null",
        |value| match value {
            Value::Null => Some(None),
            value => value.as_str()?.parse().ok().map(Some),
        },
    );
    id.flatten()
}

fn scopes(fields: &mut Fields) -> Option<Scopes> {
    const FIELD: &str = "scopes";
    let allowed = || format!("must be a list of at least one of {}", names(&Scope::ALL));
    let Some(given) = fields.take(FIELD) else {
        fields.refuse(FIELD, allowed());
        return None;
    };
    let one = |value: &Value| Scope::from_name(value.as_str()?);
    let scopes = given
        .as_array()
        .and_then(|items| items.iter().map(one).collect::<Option<Vec<_>>>())
        .filter(|scopes| !scopes.is_empty());
    if scopes.is_none() {
        fields.refuse(FIELD, allowed());
    }
    scopes.map(|scopes| Scopes::of(&scopes))
}

/// `expires_at_ms` (null: never) or `expires_in`, not both.
fn expiry(fields: &mut Fields) -> Option<Expiry> {
    let problem = "must be an integer, milliseconds since 1970, or null";
    let at = fields.typed("expires_at_ms", problem, |value| match value {
        Value::Null => Some(Expiry::Never),
        value => value.as_i64().map(Expiry::At),
    });
    let after = fields.duration("expires_in").map(Expiry::In);
    if at.is_some() && after.is_some() {
        fields.refuse("expires_in", "cannot be combined with expires_at_ms");
    }
    at.or(after)
}

impl<'a> From<&'a Token> for View<'a> {
    fn from(token: &'a Token) -> Self {
        Self {
            id: token.id.0,
            name: &token.name,
            scopes: token.scopes.names(),
            application_id: token.application_id,
            created_at_ms: token.created_at_ms,
            expires_at_ms: token.expires_at_ms,
            revoked_at_ms: token.revoked_at_ms,
            last_used_at_ms: token.last_used_at_ms,
        }
    }
}

//! `/applications/{id}/rules` and `/applications/{id}/policy` (CONTRACT 16, 38): one document of an
//! application beside the application's version, `{"version", "rules"}` and `{"version", "policy"}`.

use super::applications::PolicyView;
use crate::analysis::admin::applications::Basis;
use crate::analysis::admin::draft::{Edit, Part};
use crate::analysis::api::extract::callers::{administrator, settings_reader};
use crate::analysis::api::extract::fields::Fields;
use crate::analysis::api::extract::path::{Id, application_id};
use crate::analysis::api::extract::version::stated;
use crate::analysis::api::response::versioned;
use crate::analysis::{ApiError, Services};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use monitor_store::Application;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;

type Api = State<Arc<Services>>;
type Outcome = Result<Response, ApiError>;

#[derive(Serialize)]
struct Rules<'a> {
    version: i64,
    rules: &'a Value,
}

#[derive(Serialize)]
struct OfPolicy<'a> {
    version: i64,
    #[serde(flatten)]
    policy: PolicyView<'a>,
}

/// One document of an application.
#[derive(Clone, Copy)]
enum Document {
    Rules,
    Policy,
}

pub(in crate::analysis::api) async fn rules(
    State(services): Api,
    id: Id,
    headers: HeaderMap,
) -> Outcome {
    read(&services, Document::Rules, id, &headers).await
}

pub(in crate::analysis::api) async fn policy(
    State(services): Api,
    id: Id,
    headers: HeaderMap,
) -> Outcome {
    read(&services, Document::Policy, id, &headers).await
}

pub(in crate::analysis::api) async fn replace_rules(
    State(services): Api,
    id: Id,
    request: Request,
) -> Outcome {
    write(&services, (Document::Rules, Part::Whole), id, request).await
}

pub(in crate::analysis::api) async fn change_rules(
    State(services): Api,
    id: Id,
    request: Request,
) -> Outcome {
    write(&services, (Document::Rules, Part::Over), id, request).await
}

pub(in crate::analysis::api) async fn replace_policy(
    State(services): Api,
    id: Id,
    request: Request,
) -> Outcome {
    write(&services, (Document::Policy, Part::Whole), id, request).await
}

pub(in crate::analysis::api) async fn change_policy(
    State(services): Api,
    id: Id,
    request: Request,
) -> Outcome {
    write(&services, (Document::Policy, Part::Over), id, request).await
}

async fn read(services: &Services, document: Document, id: Id, headers: &HeaderMap) -> Outcome {
    let caller = settings_reader(services, headers).await?;
    let application = services
        .admin
        .one_application(&caller, application_id(id)?)
        .await?;
    document.show(&application)
}

async fn write(
    services: &Services,
    (document, part): (Document, fn(Value) -> Part),
    id: Id,
    request: Request,
) -> Outcome {
    let headers = request.headers().clone();
    let caller = administrator(services, &headers).await?;
    let id = application_id(id)?;
    let mut fields = Fields::read(request).await?;
    let version = stated(&mut fields, &headers);
    let given = fields.take(document.name());
    if given.is_none() {
        fields.refuse(document.name(), "missing");
    }
    fields.finish()?;
    let version = version.settle()?;
    let edit = document.edit(given.map(part));
    let basis = Basis { id, version };
    let changed = services
        .admin
        .change_application(&caller, basis, edit)
        .await?;
    document.show(&changed)
}

impl Document {
    fn name(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Policy => "policy",
        }
    }

    fn edit(self, part: Option<Part>) -> Edit {
        let edit = Edit::default();
        match self {
            Self::Rules => Edit {
                rules: part,
                ..edit
            },
            Self::Policy => Edit {
                policy: part,
                ..edit
            },
        }
    }

    fn show(self, application: &Application) -> Outcome {
        let version = application.version;
        match self {
            Self::Rules => {
                let rules = &application.rules;
                versioned(StatusCode::OK, version, &Rules { version, rules })
            }
            Self::Policy => {
                let policy = PolicyView::from(application);
                versioned(StatusCode::OK, version, &OfPolicy { version, policy })
            }
        }
    }
}

//! Saving a filter of the list, and removing a saved one.

use super::filter_bar::{LIST, read};
use crate::analysis::records::FilterId;
use crate::analysis::records::saved_filters::NewFilter;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::refusal;
use crate::analysis::ui::records::list;
use crate::analysis::ui::request::{Form, Visit};
use crate::analysis::{ApiError, Services};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;

pub(crate) async fn save(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let query = read(form.text("filter"));
    let new = NewFilter {
        name: form.text("name").to_owned(),
        query: query.query(),
        is_shared: form.is_on("shared"),
    };
    match services.records.save_filter(&visit.account, new).await {
        Ok(()) => Ok(Redirect::to(&query.address(LIST)).into_response()),
        Err(error @ ApiError::Fields(_)) => {
            let message = refusal(visit.view.t, visit.view.t.not_saved, &error);
            let page = list::page_with(&services, &visit, &query, message).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
        Err(other) => Err(other.into()),
    }
}

pub(crate) async fn remove(
    State(services): State<Arc<Services>>,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let id = id.parse().map(FilterId).map_err(|_| Failure::NotFound)?;
    services.records.remove_filter(&visit.account, id).await?;
    Ok(Redirect::to(&read(form.text("filter")).address(LIST)).into_response())
}

//! A search for a value.

use monitor_model::ApplicationId;
use utoipa::ToSchema;

#[derive(ToSchema)]
pub(crate) struct ValueSearch {
    /// The value, however it is written.
    #[schema(min_length = 1, max_length = 1000)]
    value: String,
    /// Its type, such as EMAILS or the name of a pattern of yours. If missing: every predefined type that it may be of.
    #[schema(nullable = false, min_length = 1, max_length = 200)]
    r#type: Option<String>,
    /// Only this application. If missing or null: all that the token reaches, at most 200.
    application_id: Option<ApplicationId>,
    /// `next_before` of the previous page.
    #[schema(nullable = false)]
    before: Option<i64>,
    #[schema(nullable = false, minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
}

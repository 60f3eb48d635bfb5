//! Changes of applications, their rules and policies (CONTRACT 16, 38).

use super::policies::{PolicyInput, PolicyPatch};
use super::rules::{Rules, RulesPatch};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(ToSchema)]
pub(crate) struct NewApplication {
    #[schema(nullable = false)]
    id: Option<Uuid>,
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    name: String,
    #[schema(
        nullable = false,
        max_length = 2000,
        pattern = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$"
    )]
    description: Option<String>,
    #[schema(nullable = false)]
    rules: Option<Rules>,
    #[schema(nullable = false)]
    policy: Option<PolicyInput>,
}

#[derive(ToSchema)]
pub(crate) struct ReplaceApplication {
    /// The version the change was made from, unless If-Match names it.
    #[schema(nullable = false)]
    version: Option<i64>,
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    name: String,
    #[schema(
        nullable = false,
        max_length = 2000,
        pattern = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$"
    )]
    description: Option<String>,
    #[schema(nullable = false)]
    rules: Option<Rules>,
    #[schema(nullable = false)]
    policy: Option<PolicyInput>,
}

#[derive(ToSchema)]
pub(crate) struct ChangeApplication {
    /// The version the change was made from, unless If-Match names it.
    #[schema(nullable = false)]
    version: Option<i64>,
    #[schema(
        nullable = false,
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*[^\\s\\ufeff\\u0000-\\u001f\\u007f-\\u009f][^\\u0000-\\u001f\\u007f-\\u009f]*$"
    )]
    name: Option<String>,
    #[schema(
        nullable = false,
        max_length = 2000,
        pattern = "^[^\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f]*$"
    )]
    description: Option<String>,
    #[schema(nullable = false)]
    rules: Option<RulesPatch>,
    #[schema(nullable = false)]
    policy: Option<PolicyPatch>,
}

#[derive(ToSchema)]
pub(crate) struct ReplaceRules {
    /// The version the change was made from, unless If-Match names it.
    #[schema(nullable = false)]
    version: Option<i64>,
    rules: Rules,
}

#[derive(ToSchema)]
pub(crate) struct ChangeRules {
    /// The version the change was made from, unless If-Match names it.
    #[schema(nullable = false)]
    version: Option<i64>,
    rules: RulesPatch,
}

#[derive(ToSchema)]
pub(crate) struct ReplacePolicy {
    /// The version the change was made from, unless If-Match names it.
    #[schema(nullable = false)]
    version: Option<i64>,
    policy: PolicyInput,
}

#[derive(ToSchema)]
pub(crate) struct ChangePolicy {
    /// The version the change was made from, unless If-Match names it.
    #[schema(nullable = false)]
    version: Option<i64>,
    policy: PolicyPatch,
}

#[derive(ToSchema)]
pub(crate) struct Restore {
    /// The version the change was made from, unless If-Match names it.
    #[schema(nullable = false)]
    version: Option<i64>,
    /// The earlier version to restore.
    restore: i64,
}

#[derive(ToSchema)]
pub(crate) struct Draft {
    rules: Rules,
}

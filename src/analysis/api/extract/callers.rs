//! Extractors of the caller: the token of the request, with the scope that a handler needs.

use super::bearer::bearer;
use crate::analysis::{ApiError, BodyMemory, Caller, Services};
use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use monitor_store::Scope;
use std::sync::Arc;

/// A caller that may change settings: scope admin.
pub(crate) struct Admin(pub(crate) Caller);

/// A caller that may change settings and read records: scopes admin and read.
pub(crate) struct Administrator(pub(crate) Caller);

/// A caller that may read records with their originals: scope read.
pub(crate) struct Reader(pub(crate) Caller);

/// A caller that may read records, perhaps without their originals: scope read or read_cleaned. The service
/// `records` tells the two apart.
pub(crate) struct RecordReader(pub(crate) Caller);

/// A caller that may read applications: scope read, read_cleaned or admin, since their rules decide about the records
/// that a reader reads.
pub(crate) struct SettingsReader(pub(crate) Caller);

/// A caller that may see findings, which have no texts: scope read, read_cleaned or triage.
pub(crate) struct FindingReader(pub(crate) Caller);

/// A caller that may decide about findings: scope triage.
pub(crate) struct Triager(pub(crate) Caller);

/// A caller that may know a verdict without its text: scope read or ingest.
pub(crate) struct VerdictReader(pub(crate) Caller);

/// A caller that may send messages and files: scope ingest.
pub(crate) struct Ingester(pub(crate) Caller);

async fn caller(parts: &Parts, services: &Services, scopes: &[Scope]) -> Result<Caller, ApiError> {
    let key = bearer(&parts.headers)?;
    services.access.authorize(&key, scopes).await
}

macro_rules! extracted_by_scope {
    ($($name:ident: $($scope:ident),+;)+) => {$(
        impl FromRequestParts<Arc<Services>> for $name {
            type Rejection = ApiError;

            async fn from_request_parts(
                parts: &mut Parts,
                services: &Arc<Services>,
            ) -> Result<Self, ApiError> {
                caller(parts, services, &[$(Scope::$scope),+]).await.map(Self)
            }
        }
    )+};
}

extracted_by_scope! {
    Admin: Admin;
    Reader: Read;
    RecordReader: Read, ReadCleaned;
    SettingsReader: Read, ReadCleaned, Admin;
    FindingReader: Read, ReadCleaned, Triage;
    Triager: Triage;
    VerdictReader: Read, Ingest;
}

impl FromRequestParts<Arc<Services>> for Ingester {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, ApiError> {
        let caller = caller(parts, services, &[Scope::Ingest]).await?;
        count_for(&caller, &parts.extensions);
        Ok(Self(caller))
    }
}

/// Counts what a request takes of its listener for the caller, and no longer for the address it comes from.
pub(crate) fn count_for(caller: &Caller, extensions: &Extensions) {
    let memory = extensions.get::<BodyMemory>();
    if let (Some(memory), Some(holder)) = (memory, caller.holder()) {
        memory.count_for(holder);
    }
}

impl FromRequestParts<Arc<Services>> for Administrator {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut Parts,
        services: &Arc<Services>,
    ) -> Result<Self, ApiError> {
        let Admin(caller) = Admin::from_request_parts(parts, services).await?;
        caller.must_administer()?;
        Ok(Self(caller))
    }
}

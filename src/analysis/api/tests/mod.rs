//! The router without a network: what each test starts from and how it asks.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod costs;
mod document;
mod exports;
mod refusals;
mod replays;
mod rules;

use super::router::router;
use crate::analysis::{Caller, Expiry, FirstRun, NewToken, Services};
use crate::config::{
    AnalysisSettings, ApiLimits, AttachmentSettings, ChecksSettings, CorsSettings, DetectSettings,
    RetentionSettings, TrustedProxies,
};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request};
use monitor_store::{Scope, Scopes};
use serde_json::{Value, json};
use std::sync::Arc;
use support::stack::Folder;
use tower_service::Service as _;

const MAX_BODY: u64 = 256 * 1024;

struct World {
    folder: Folder,
    services: Arc<Services>,
    router: Router,
    first: FirstRun,
}

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

fn settings() -> AnalysisSettings {
    AnalysisSettings {
        listen: Vec::new(),
        operations: ([127, 0, 0, 1], 0).into(),
        trusted_proxies: TrustedProxies::default(),
        cors: CorsSettings::default(),
        database: None,
        store: None,
        retention: RetentionSettings {
            days: None,
            rows: None,
            bytes: None,
            cost_days: 400,
        },
        max_body: MAX_BODY,
        first_token: None,
        services: crate::config::Services::default(),
        detect: DetectSettings::default(),
        blobs: None,
        attachments: AttachmentSettings {
            max_bytes: 1 << 20,
            max_files: 4,
            waiting_files: 4,
            waiting_bytes: 1 << 20,
            waiting_for: std::time::Duration::from_secs(60),
            uploading_bytes: 8 << 20,
        },
        limits: ApiLimits::default(),
        requests_per_second: None,
        queue: crate::config::AnalysisQueue::default(),
        analyzed_bytes: 4 << 20,
        judge: None,
        checks: ChecksSettings::default(),
        prices: crate::config::Prices::default(),
        alerts: crate::config::AlertSettings::default(),
        siem: crate::config::SiemSettings::default(),
        exports: Vec::new(),
        gateway_url: None,
        public_url: None,
        hsts: true,
        require_second_factor: false,
        oidc: None,
    }
}

impl World {
    async fn new() -> Self {
        let folder = Folder::unmade();
        let (services, first) = Services::open(&settings(), folder.path()).await.unwrap();
        Self {
            folder,
            router: router(services.clone(), CorsSettings::default()),
            services,
            first,
        }
    }

    fn key(&self) -> &str {
        self.first.access_key.as_ref().unwrap().expose()
    }

    fn application(&self) -> String {
        self.first.application_id.to_string()
    }

    async fn token(&self, scopes: &[Scope], bound: bool) -> String {
        let application = bound.then_some(self.first.application_id);
        let new = NewToken {
            name: "t".to_owned(),
            scopes: Scopes::of(scopes),
            application_id: application,
            expiry: Expiry::Never,
        };
        let made = self
            .services
            .admin
            .create_token(&Caller::command_line(), new)
            .await;
        made.unwrap().value.expose().to_owned()
    }

    async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body,
        }
    }

    async fn post(&self, path: &str, key: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {key}"))
            .header("content-type", "application/json; charset=utf-8");
        self.send(request.body(body.into()).unwrap()).await
    }

    async fn get(&self, path: &str, key: &str) -> Answer {
        let request = Request::get(path).header("authorization", format!("bearer {key}"));
        self.send(request.body(Body::empty()).unwrap()).await
    }

    async fn analyze(&self, message: &str) -> Answer {
        let body = json!({"application_id": self.application(), "message": message});
        self.post("/process_request/", self.key(), body.to_string())
            .await
    }
}

impl Answer {
    fn assert_envelope(&self, status: u16) {
        assert_eq!(
            (self.status, &self.body["error"]["code"]),
            (status, &json!(status))
        );
        assert!(
            self.body["error"]["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        let kind = if status < 500 {
            "invalid_request_error"
        } else {
            "server_error"
        };
        assert_eq!(self.body["error"]["type"], kind);
    }

    fn assert_field(&self, field: &str) {
        self.assert_envelope(422);
        let message = self.body["error"]["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{field}: ")), "{message}");
    }
}

//! *Send it from here*: the request of the snippets, sent to the gateway of this process with a key of its own, which
//! soon expires.

use super::blocking;
use super::snippets::Snippets;
use crate::analysis::access::{Scope, Scopes};
use crate::analysis::admin::Application;
use crate::analysis::ui::layout::components::token_field;
use crate::analysis::ui::layout::highlight::beginning;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Expiry, NewToken, Services};
use crate::http_client::{HttpClient, whole};
use http::Request;
use http::header::CONTENT_TYPE;
use maud::{Markup, html};
use monitor_model::{ApplicationId, Secret};
use serde_json::Value;
use std::time::Duration;

/// The time for the answer.
const LONGEST: Duration = Duration::from_secs(30);
/// The life of the key. The record of a call that is not awaited is delivered with it, a while after the answer.
const KEY_LIVES: Duration = Duration::from_secs(300);
/// The largest answer that is read, in bytes, and characters of it that are shown.
const LARGEST: usize = 256 << 10;
const SHOWN: usize = 500;

/// What became of the request.
pub(super) enum Sent {
    /// Status and text of the answer.
    Answered { status: u16, text: String },
    /// No answer came.
    Unanswered,
}

/// The address of the gateway in this process, where it takes requests in clear text.
fn gateway(services: &Services) -> Option<String> {
    let gateway = services.ingest.gateways.local()?;
    let host = gateway.host.as_deref().unwrap_or("127.0.0.1");
    let is_v6 = host.contains(':');
    let host = if is_v6 {
        format!("[{host}]")
    } else {
        host.to_owned()
    };
    (!gateway.tls).then(|| format!("http://{host}:{}", gateway.port))
}

/// Whether the request can be sent from here: by whoever makes keys, and only where it does not need a model's key.
pub(super) fn is_offered(services: &Services, visit: &Visit, application: &Application) -> bool {
    let local = services.ingest.gateways.local();
    let is_demo = local.is_some_and(|gateway| gateway.demo);
    let needs_no_key = is_demo || blocking::is_done(application);
    visit.may(Scope::Admin) && gateway(services).is_some() && needs_no_key
}

pub(super) async fn send(
    services: &Services,
    visit: &Visit,
    application: ApplicationId,
) -> Result<Sent, ApiError> {
    let gateway = gateway(services).ok_or(ApiError::NotFound)?;
    let new = NewToken {
        name: format!("first steps of {}", visit.account.name),
        scopes: Scopes::of(&[Scope::Ingest]),
        application_id: Some(application),
        expiry: Expiry::In(KEY_LIVES),
    };
    let made = services.admin.create_token(&visit.caller, new).await?;
    let sent = ask(&gateway, application, &made.value).await;
    Ok(sent.unwrap_or(Sent::Unanswered))
}

/// The gateway's answer; None where none came.
async fn ask(gateway: &str, application: ApplicationId, key: &Secret) -> Option<Sent> {
    let client = HttpClient::pooled(false, None).ok()?;
    let request = Request::post(format!("{gateway}/v1/chat/completions"))
        .header(CONTENT_TYPE, "application/json")
        .header("x-monitor-api-key", key.expose())
        .header("x-application-id", application.to_string())
        .body(whole(Snippets::body("demo-small")))
        .ok()?;
    let answer = client.send(request, LARGEST, LONGEST).await.ok()?;
    let body = answer.body.ok()?;
    let body = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let text = body.pointer("/choices/0/message/content");
    let text = text.or_else(|| body.pointer("/error/message"));
    let text = text.and_then(Value::as_str).unwrap_or_default();
    Some(Sent::Answered {
        status: answer.status.as_u16(),
        text: beginning(text, SHOWN).0.to_owned(),
    })
}

/// The button, and the answer to the request that was just sent.
pub(super) fn part(visit: &Visit, id: ApplicationId, sent: Option<&Sent>) -> Markup {
    let (view, o) = (&visit.view, visit.view.o());
    html! {
        form method="post" action="/ui/first-steps/send" {
            (token_field(view))
            input type="hidden" name="application_id" value=(id);
            p { button.primary type="submit" { (o.send_now) } }
        }
        p.hint { (o.send_now_hint) }
        @match sent {
            None => {}
            Some(Sent::Unanswered) => { div.notice.bad role="alert" { (o.sent_unanswered) } }
            Some(Sent::Answered { status, text }) => {
                div.notice.good role="status" { (o.sent_answer.replace("{}", &status.to_string())) pre.text #sent-answer { (text) } }
            }
        }
    }
}

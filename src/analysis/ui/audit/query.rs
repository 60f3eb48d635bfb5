//! What the audit log is asked for in the page's address: its form, and the links that keep it.

use super::name;
use crate::analysis::admin::AuditFilter;
use crate::analysis::audit::Action;
use crate::analysis::records::RecordFilter;
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names;
use crate::analysis::ui::layout::components::{self, PageLink, choice};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::request::list_query::ListQuery;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::Query;
use maud::{Markup, html};
use serde::Deserialize;

/// The log's filter as it was typed.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(in crate::analysis::ui) struct AuditQuery {
    actor: String,
    action: String,
    application_id: String,
    from: String,
    to: String,
    before: Option<i64>,
}

impl AuditQuery {
    /// One page of so many entries.
    pub(super) async fn filter(
        &self,
        services: &Services,
        visit: &Visit,
        limit: u32,
    ) -> Result<AuditFilter, ApiError> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let times = self.times()?;
        let application_id = match self.application_id.trim() {
            "" => None,
            named => {
                let r = visit.view.r();
                Some(application_names::resolve(services, &visit.caller, named, r).await?)
            }
        };
        Ok(AuditFilter {
            application_id,
            actor: given(&self.actor),
            action: given(&self.action),
            from_ms: times.from_ms,
            to_ms: times.to_ms,
            before: self.before,
            after: None,
            limit,
        })
    }

    /// The period, read as in the list of records.
    fn times(&self) -> Result<RecordFilter, ApiError> {
        let parts = [("from", &self.from), ("to", &self.to)];
        let own = parts.map(|(name, text)| (name.to_owned(), text.clone()));
        ListQuery::read(Query(Vec::from(own))).records()
    }

    /// An address with this filter, from the newest entry on or from before one.
    fn address(&self, path: &str, before: Option<i64>) -> String {
        let before = before.map(|before| before.to_string());
        let mut parts = vec![
            ("actor", &*self.actor),
            ("action", &*self.action),
            ("application_id", &*self.application_id),
            ("from", &*self.from),
            ("to", &*self.to),
            ("before", before.as_deref().unwrap_or_default()),
        ];
        parts.retain(|(_, text)| !text.is_empty());
        address(path, &parts)
    }

    pub(super) fn form(&self, view: &View, names: &[String]) -> Markup {
        let (t, r, o) = (view.t, view.r(), view.o());
        let time = |name: &'static str, label: &'static str, text: &str| {
            html! { label { (label) input type="datetime-local" name=(name) value=(text); } }
        };
        html! {
            form.card.filters method="get" action="/ui/audit" role="search" data-skips-empty {
                div.row {
                    label { (o.person) input name="actor" value=(self.actor) list="people" maxlength="200" autocomplete="off" spellcheck="false"; }
                    datalist #people { @for name in names { (choice(name, "", "")) } }
                    label { (o.action) select name="action" {
                        (choice("", o.any_action, &self.action))
                        @for action in Action::ALL { (choice(action.as_str(), name(o, action), &self.action)) }
                    } }
                    (application_field::field(Label::Shown(r.application), &self.application_id, r.name_or_id))
                }
                div.row {
                    (time("from", r.from, &self.from))
                    (time("to", r.until, &self.to))
                    div.actions {
                        button.primary type="submit" { (t.search) }
                        a.button.quiet href="/ui/audit" { (t.clear) }
                        a.button.quiet href=(self.address("/ui/audit/export", None)) title=(view.a().audit_file) { "CSV" }
                    }
                }
            }
        }
    }

    pub(super) fn pager(&self, view: &View, next: Option<i64>) -> Markup {
        let o = view.o();
        let link = |label, before: Option<i64>| PageLink {
            label,
            address: self.address("/ui/audit", before),
        };
        let first = self.before.map(|_| link(o.newest_lines, None));
        components::pager(
            view.t,
            first,
            next.map(|next| link(o.older_lines, Some(next))),
        )
    }
}

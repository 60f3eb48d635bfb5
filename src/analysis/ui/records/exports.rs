//! How far exports have come: the page that began one asks, while the browser saves what arrives. Kept
//! in memory, for the one who exports; a restart forgets it.

use crate::analysis::http::export::{Progress, Stand};
use crate::analysis::ui::Ui;
use crate::analysis::ui::components::number;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::visit::Visit;
use crate::store::{AccountId, Scope};
use axum::extract::{Path, State};
use axum::response::Html;
use maud::html;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

/// Exports that are remembered; the oldest ones are forgotten.
const REMEMBERED: usize = 200;

struct Known {
    owner: AccountId,
    id: Uuid,
    progress: Arc<Progress>,
}

/// The exports of this process.
#[derive(Default)]
pub(in crate::analysis::ui) struct Exports(Mutex<VecDeque<Known>>);

impl Exports {
    /// Remembers a new one; one of the same name is over for whoever asks.
    pub(super) fn begin(&self, owner: AccountId, id: Uuid) -> Arc<Progress> {
        let progress = Arc::<Progress>::default();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|one| (one.owner, one.id) != (owner, id));
        if known.len() >= REMEMBERED {
            known.pop_front();
        }
        known.push_back(Known {
            owner,
            id,
            progress: progress.clone(),
        });
        progress
    }

    fn find(&self, owner: AccountId, id: Uuid) -> Option<Arc<Progress>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        let found = known.find(|one| (one.owner, one.id) == (owner, id))?;
        Some(found.progress.clone())
    }
}

pub(super) async fn page(
    State(ui): State<Ui>,
    visit: Visit,
    Path(id): Path<String>,
) -> Result<Html<String>, Failure> {
    visit.must(Scope::Read)?;
    let id = id.parse().map_err(|_| Failure::NotFound)?;
    let progress = ui.exports.find(visit.account.id, id);
    let (records, stand) = progress.ok_or(Failure::NotFound)?.told();
    let r = visit.view.r();
    let (text, is_going) = match stand {
        Stand::Going => (r.export_going, true),
        Stand::Done => (r.export_done, false),
        Stand::CutOff => (r.export_cut_off, false),
    };
    let text = text.replace("{}", &number(records));
    Ok(Html(
        html! { span data-going[is_going] { (text) } }.into_string(),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_everybodys_own() {
        let (exports, owner) = (Exports::default(), AccountId(Uuid::new_v4()));
        let first = Uuid::new_v4();
        exports.begin(owner, first);
        assert!(exports.find(owner, first).is_some());
        assert!(exports.find(AccountId(Uuid::new_v4()), first).is_none());
        for _ in 0..REMEMBERED {
            exports.begin(owner, Uuid::new_v4());
        }
        assert!(exports.find(owner, first).is_none());
        assert_eq!(exports.0.lock().unwrap().len(), REMEMBERED);
    }
}

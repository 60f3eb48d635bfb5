//! Filters of the list of records that a person saves under a name and may share with the tenant. Only the
//! owner can change a filter; an administrator can delete a shared one.

use super::Records;
use crate::analysis::clock::now_ms;
use crate::analysis::error::{ApiError, FieldProblem};
use monitor_store::{Account, FilterId, Role, SavedFilter, SeenFilter};
use uuid::Uuid;

/// Filters per person.
const MOST: usize = 50;
/// The longest name, in characters.
pub(crate) const LONGEST_NAME: usize = 60;
/// The longest filter, in bytes.
const LONGEST_QUERY: usize = 8_000;

/// A filter to be saved.
pub(crate) struct NewFilter {
    pub(crate) name: String,
    /// The query of the list's URL.
    pub(crate) query: String,
    pub(crate) is_shared: bool,
}

impl Records {
    /// The person's own filters and the shared ones, by name.
    pub(crate) async fn saved_filters(
        &self,
        person: &Account,
    ) -> Result<Vec<SeenFilter>, ApiError> {
        let tenant = person.application_id;
        Ok(self.saved_filters.saved_filters(person.id, tenant).await?)
    }

    /// Saves a filter; it replaces the person's filter of the same name.
    pub(crate) async fn save_filter(
        &self,
        person: &Account,
        new: NewFilter,
    ) -> Result<(), ApiError> {
        let name = new.name.trim().to_owned();
        check_name(&name)?;
        if new.query.is_empty() || new.query.len() > LONGEST_QUERY {
            return Err(FieldProblem::new("filter", "is empty or too long").into());
        }
        let known = self.saved_filters(person).await?;
        let own = known.iter().filter(|seen| seen.filter.owner == person.id);
        let is_new = !own.clone().any(|seen| seen.filter.name == name);
        if is_new && own.count() >= MOST {
            let problem = format!("you have {MOST} filters already: delete one first");
            return Err(FieldProblem::new("name", problem).into());
        }
        let filter = SavedFilter {
            id: FilterId(Uuid::new_v4()),
            owner: person.id,
            name,
            query: new.query,
            is_shared: new.is_shared,
            created_at_ms: now_ms(),
        };
        Ok(self.saved_filters.keep_filter(filter).await?)
    }

    /// Deletes a filter. One that the person does not see, or may not delete, counts as not found.
    pub(crate) async fn remove_filter(
        &self,
        person: &Account,
        id: FilterId,
    ) -> Result<(), ApiError> {
        let known = self.saved_filters(person).await?;
        let found = known.iter().find(|seen| seen.filter.id == id);
        let found = found.filter(|seen| may_remove(person, &seen.filter));
        found.ok_or(ApiError::NotFound)?;
        Ok(self.saved_filters.remove_filter(id).await?)
    }
}

/// Whether a person who sees a filter may delete it.
pub(crate) fn may_remove(person: &Account, filter: &SavedFilter) -> bool {
    filter.owner == person.id || person.role == Role::Administrator
}

fn check_name(name: &str) -> Result<(), FieldProblem> {
    let length = name.chars().count();
    match (1..=LONGEST_NAME).contains(&length) && !name.chars().any(char::is_control) {
        true => Ok(()),
        false => Err(FieldProblem::new(
            "name",
            format!("must be one line of 1 to {LONGEST_NAME} characters"),
        )),
    }
}

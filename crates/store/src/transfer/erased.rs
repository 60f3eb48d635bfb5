//! Replays erasures on rows that are older than they are: finds the users of tombstones among the records by the hash
//! of their names, so that [`super::StoreWriter::erase`] can remove them. It remembers the names of erased users only.

use super::row::{Row, Value};
use super::table::Table;
use crate::removal::Erasure;
use monitor_model::ApplicationId;
use std::collections::{BTreeMap, HashMap};
use uuid::Uuid;

/// The hash of an erased user's name, and the application in which; None means every one.
type UserKey = (Vec<u8>, Option<Uuid>);

/// The tombstones, and the users of the rows whom they concern.
#[derive(Default)]
pub struct ErasureReplay {
    tombstones: HashMap<UserKey, Row>,
    found: BTreeMap<(String, Option<Uuid>), Erasure>,
}

impl ErasureReplay {
    /// Learns tombstones from rows of [`Table::Tombstones`]; other rows are searched for their users. Tombstones have
    /// to come first.
    pub fn look_at(&mut self, rows: &[Row]) {
        for row in rows {
            match row.table() {
                Table::Tombstones => drop(self.learn(row)),
                // Sums keep the names of users for longer than retention keeps their records.
                Table::Records | Table::Sessions | Table::Costs | Table::UserDays => {
                    self.search(row);
                }
                _ => {}
            }
        }
    }

    /// Learns a tombstone; false if there is one for this user already.
    pub fn learn(&mut self, row: &Row) -> bool {
        let user = (row.bytes("user_hash").to_vec(), row.id("application_id"));
        self.tombstones.insert(user, row.clone()).is_none()
    }

    /// How many tombstones there are.
    pub fn tombstones(&self) -> usize {
        self.tombstones.len()
    }

    /// When the latest erasure was requested, milliseconds since 1970.
    pub fn latest_ms(&self) -> Option<i64> {
        let rows = self.tombstones.values();
        rows.filter_map(|row| row.number("at_ms")).max()
    }

    /// The users that were found, each with what is to be erased.
    pub fn found(&self) -> Vec<Erasure> {
        self.found.values().cloned().collect()
    }

    fn search(&mut self, row: &Row) {
        let Value::Text(user) = row.value("user_id") else {
            return;
        };
        if self.tombstones.is_empty() {
            return;
        }
        let hash = Erasure::user_hash(user).to_vec();
        let application = row.id("application_id");
        for concerned in [None, application] {
            let Some(tombstone) = self.tombstones.get(&(hash.clone(), concerned)) else {
                continue;
            };
            let erasure = || Erasure {
                id: tombstone.id("id").unwrap_or_default(),
                user_id: user.clone(),
                application_id: concerned.map(ApplicationId),
                at_ms: tombstone.number("at_ms").unwrap_or_default(),
            };
            let known = self.found.entry((user.clone(), concerned));
            known.or_insert_with(erasure);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn tombstone(user: &str, application: Option<Uuid>) -> Row {
        let values = vec![
            Value::Id(Uuid::from_u128(1)),
            Value::Bytes(Erasure::user_hash(user).to_vec()),
            application.map_or(Value::Null, Value::Id),
            Value::Number(5),
        ];
        Row::new(Table::Tombstones, values)
    }

    fn session(application: Uuid, user: Option<&str>) -> Row {
        let user = user.map_or(String::new(), |user| format!(r#","user_id":"{user}""#));
        let line = format!(r#"{{"application_id":"{application}","session_id":"s"{user}}}"#);
        Row::from_line(Table::Sessions, &line).unwrap()
    }

    #[test]
    fn users_are_found_by_the_hash_of_their_names_and_within_their_application() {
        let (one, other) = (Uuid::from_u128(10), Uuid::from_u128(11));
        let mut replay = ErasureReplay::default();
        assert!(replay.learn(&tombstone("everywhere", None)));
        assert!(replay.learn(&tombstone("once", Some(one))));
        assert!(!replay.learn(&tombstone("once", Some(one))), "known");
        let rows = [
            session(one, Some("everywhere")),
            session(other, Some("everywhere")),
            session(other, Some("once")),
            session(one, Some("nobody")),
            session(one, None),
        ];
        replay.look_at(&rows);
        let found = replay.found();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].user_id.as_str(), found[0].application_id),
            ("everywhere", None)
        );
        // Whom nothing names any more but sums.
        assert!(replay.learn(&tombstone("rarely", Some(one))));
        for (user, table) in [("once", Table::Costs), ("rarely", Table::UserDays)] {
            let line = format!(r#"{{"application_id":"{one}","user_id":"{user}","day":7}}"#);
            replay.look_at(&[Row::from_line(table, &line).unwrap()]);
            let found = replay.found().pop().unwrap();
            assert_eq!(found.user_id, user);
            assert_eq!(found.application_id, Some(ApplicationId(one)));
        }
        assert_eq!((replay.tombstones(), replay.latest_ms()), (3, Some(5)));
    }
}

//! Found values as hashes (HMAC-SHA256 of a type and a value in the form of [`normalize`], 16 bytes of it): which
//! records have the same value can be asked without any value being kept. Each application has a key of its own, which
//! follows from that of the store, so that nothing is told across applications. The keys are in the store.

mod normalize;

use crate::analysis::error::ApiError;
use arc_swap::ArcSwap;
use monitor_model::{ApplicationId, Entity};
use monitor_store::{
    FoundValue, LONGEST_VALUE_KIND, MOST_FOUND_VALUES, StoreError, ValueHash, ValueKey,
    ValueKeyStore,
};
pub(crate) use normalize::possible_kinds;
use normalize::{LONGEST, normalized};
use ring::hmac;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// What the keys are used for, so that they serve nothing else.
const USE: &[u8] = b"monitor: found values\0";
/// The finds of a message that are looked at.
const MOST_EXAMINED: usize = 4 * 1024;
/// After this time the keys are read again: another server may have made a new one.
const FRESH_MS: i64 = 60_000;

/// The keys of found values as this process knows them.
pub(crate) struct ValueKeys {
    store: Arc<dyn ValueKeyStore>,
    /// The newest first.
    keys: ArcSwap<Vec<ValueKey>>,
    read_at_ms: AtomicI64,
}

/// A key of one application.
pub(crate) struct ApplicationKey {
    id: i64,
    key: hmac::Key,
}

impl ValueKeys {
    /// Without keys until they are read.
    pub(crate) fn new(store: Arc<dyn ValueKeyStore>) -> Self {
        Self {
            store,
            keys: ArcSwap::default(),
            read_at_ms: AtomicI64::new(0),
        }
    }

    /// Reads the keys.
    pub(crate) async fn read(&self, now_ms: i64) -> Result<(), StoreError> {
        self.read_at_ms.store(now_ms, Ordering::Relaxed);
        self.keys.store(Arc::new(self.store.value_keys().await?));
        Ok(())
    }

    /// Reads the keys again in the background once they are old. Until then values get the key before, which finds
    /// them as well.
    pub(crate) fn refresh(self: &Arc<Self>, now_ms: i64) {
        let read_at_ms = self.read_at_ms.load(Ordering::Relaxed);
        if now_ms.saturating_sub(read_at_ms) < FRESH_MS {
            return;
        }
        let next = self.read_at_ms.compare_exchange(
            read_at_ms,
            now_ms,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        if next.is_err() {
            return;
        }
        let keys = self.clone();
        tokio::spawn(async move {
            if let Err(error) = keys.read(now_ms).await {
                log::debug!("the keys of found values were not read again: {error}");
            }
        });
    }

    /// The key that makes the hashes of an application; None where the store has none.
    pub(crate) fn newest(&self, application: ApplicationId) -> Option<ApplicationKey> {
        let keys = self.keys.load();
        keys.first().map(|key| ApplicationKey::of(key, application))
    }

    /// Every key of an application.
    pub(crate) fn all(&self, application: ApplicationId) -> Vec<ApplicationKey> {
        let keys = self.keys.load();
        let own = keys.iter().map(|key| ApplicationKey::of(key, application));
        own.collect()
    }
}

impl ApplicationKey {
    fn of(key: &ValueKey, application: ApplicationId) -> Self {
        let store = hmac::Key::new(hmac::HMAC_SHA256, &key.secret);
        let own = hmac::sign(&store, &[USE, application.0.as_bytes()].concat());
        Self {
            id: key.id,
            key: hmac::Key::new(hmac::HMAC_SHA256, own.as_ref()),
        }
    }

    /// What stands for a value; None for what is no value of this type.
    pub(crate) fn hash(&self, kind: &str, value: &str) -> Option<ValueHash> {
        let value = normalized(kind, value)?;
        let tag = hmac::sign(&self.key, format!("{kind}\0{value}").as_bytes());
        tag.as_ref().first_chunk().copied().map(ValueHash)
    }

    /// What was found in a message, each value once.
    pub(crate) fn found_in(&self, message: &str, entities: &[Entity]) -> Vec<FoundValue> {
        let mut finds: Vec<&Entity> = entities.iter().take(MOST_EXAMINED).collect();
        finds.sort_by_key(|find| find.start);
        let (mut known, mut values) = (HashSet::new(), Vec::new());
        let (mut at, mut rest) = (0, message);
        for find in finds {
            rest = behind(rest, find.start.saturating_sub(at));
            at = find.start;
            let value = before(rest, find.end.saturating_sub(find.start));
            if value.len() > LONGEST || find.kind.len() > LONGEST_VALUE_KIND {
                continue;
            }
            let Some(hash) = self
                .hash(&find.kind, value)
                .filter(|hash| known.insert(*hash))
            else {
                continue;
            };
            values.push(FoundValue {
                kind: find.kind.clone(),
                hash,
                key_id: self.id,
            });
            if values.len() == MOST_FOUND_VALUES {
                break;
            }
        }
        values
    }
}

/// A new key.
pub(crate) fn random_key() -> Result<[u8; 32], ApiError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|_| ApiError::Internal)?;
    Ok(secret)
}

/// The text behind its first characters.
fn behind(text: &str, characters: usize) -> &str {
    let at = text.char_indices().nth(characters);
    at.and_then(|(at, _)| text.get(at..)).unwrap_or_default()
}

/// The first characters of a text.
fn before(text: &str, characters: usize) -> &str {
    let end = text.char_indices().nth(characters);
    end.map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(id: i64, application: ApplicationId) -> ApplicationKey {
        let key = ValueKey {
            id,
            secret: [id as u8; 32],
            created_at_ms: 0,
        };
        ApplicationKey::of(&key, application)
    }

    fn entity(kind: &str, start: usize, end: usize) -> Entity {
        Entity {
            kind: kind.into(),
            start,
            end,
        }
    }

    #[test]
    fn a_hash_depends_on_key_application_type_and_value() {
        let (own, other) = (ApplicationId::random(), ApplicationId::random());
        let hash = key(1, own).hash("EMAILS", "a@example.com").unwrap();
        assert_eq!(key(1, own).hash("EMAILS", "A@EXAMPLE.com"), Some(hash));
        for different in [
            key(2, own).hash("EMAILS", "a@example.com"),
            key(1, other).hash("EMAILS", "a@example.com"),
            key(1, own).hash("DOMAIN", "a@example.com"),
            key(1, own).hash("EMAILS", "b@example.com"),
        ] {
            assert_ne!(different.unwrap(), hash);
        }
    }

    #[test]
    fn what_was_found_is_taken_by_characters_and_each_value_once() {
        let key = key(1, ApplicationId::random());
        let message = "Почта Anna@example.com, anna@example.com и bob@example.com";
        let finds = [
            entity("EMAILS", 43, 58),
            entity("EMAILS", 6, 22),
            entity("EMAILS", 24, 40),
            entity("EMAILS", 90, 99),
        ];
        let found = key.found_in(message, &finds);
        let hashes: Vec<_> = found.iter().map(|one| one.hash).collect();
        let expected = ["anna@example.com", "bob@example.com"];
        let expected = expected.map(|value| key.hash("EMAILS", value).unwrap());
        assert_eq!(hashes, expected);
        assert!(found.iter().all(|one| one.key_id == 1));
    }

    #[test]
    fn a_record_has_a_limited_number_of_values() {
        let key = key(1, ApplicationId::random());
        let names: Vec<String> = (0..400).map(|number| format!("{number:03}")).collect();
        let finds: Vec<_> = (0..400)
            .map(|number| entity("NAME", number * 3, number * 3 + 3))
            .collect();
        let found = key.found_in(&names.concat(), &finds);
        assert_eq!(found.len(), MOST_FOUND_VALUES);
    }
}

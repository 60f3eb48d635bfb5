//! Forms that were sent after the session they were made in had ended, so that nothing typed into them is lost. A form
//! is kept in memory for a short time, and shown again to whoever signs in with the same account; it is never saved by
//! itself.
//!
//! - A form that is worth it carries an owner token in its address: the account it was made for and when, signed by
//!   this process. Without one nothing is kept: another site cannot put anything before a person, and somebody without
//!   an account takes no memory.
//! - One form of an account is kept, and so many bytes of all; the oldest goes first.
//! - A restart forgets the key and the forms: what is sent then leads to the sign-in, as it does without a token.

use crate::analysis::access::token_cache::random_value;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use monitor_model::Secret;
use monitor_store::AccountId;
use ring::hmac;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// How long a form may be open before it is sent; a sign-in lasts at most seven days.
const LONGEST_OPEN_MS: i64 = 8 * 86_400_000;
/// How long a form waits for its account.
const LASTS: Duration = Duration::from_secs(30 * 60);
/// Bytes of all forms.
const MOST_BYTES: usize = 32 << 20;

/// The fields of a form, in order.
pub(crate) type Fields = Vec<(String, String)>;

/// A form and the address that it was sent to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SentForm {
    pub(crate) path: String,
    pub(crate) fields: Fields,
}

impl fmt::Debug for SentForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SentForm({} fields)", self.fields.len())
    }
}

/// The forms of this process.
pub(crate) struct KeptForms {
    /// None where there is no randomness: then no form is kept.
    key: Option<hmac::Key>,
    forms: Mutex<Vec<Kept>>,
}

struct Kept {
    id: Uuid,
    account: AccountId,
    form: SentForm,
    bytes: usize,
    at: Instant,
}

impl KeptForms {
    /// With a key of its own.
    pub(crate) fn new() -> Self {
        let secret = random_value().ok();
        let key = |secret: Secret| hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        Self {
            key: secret.map(key),
            forms: Mutex::default(),
        }
    }

    /// The owner token of a form at this path that is made for an account now.
    pub(crate) fn owner_token(
        &self,
        account: AccountId,
        path: &str,
        now_ms: i64,
    ) -> Option<String> {
        let key = self.key.as_ref()?;
        let content = format!("{}.{now_ms}", account.0.simple());
        let signature = hmac::sign(key, signed(&content, path).as_bytes());
        Some(format!("{content}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The account that a form at this path was made for.
    pub(crate) fn owner(&self, token: &str, path: &str, now_ms: i64) -> Option<AccountId> {
        let (content, signature) = token.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let key = self.key.as_ref()?;
        hmac::verify(key, signed(content, path).as_bytes(), &signature).ok()?;
        let (account, made_ms) = content.split_once('.')?;
        let made_ms: i64 = made_ms.parse().ok()?;
        let is_fresh = (0..=LONGEST_OPEN_MS).contains(&now_ms.saturating_sub(made_ms));
        let account = account.parse::<Uuid>().ok().filter(|_| is_fresh);
        account.map(AccountId)
    }

    /// Keeps a form in place of the one that its account has; gives its identifier.
    pub(crate) fn keep(&self, account: AccountId, form: SentForm, now: Instant) -> Uuid {
        let sizes = form.fields.iter();
        let bytes: usize = sizes.map(|(name, text)| name.len() + text.len() + 64).sum();
        let kept = Kept {
            id: Uuid::new_v4(),
            account,
            form,
            bytes,
            at: now,
        };
        let id = kept.id;
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        forms.retain(|one| one.account != account && !is_over(one, now));
        forms.push(kept);
        let mut held: usize = forms.iter().map(|one| one.bytes).sum();
        // The newest is within the limit of forms, and stays.
        while held > MOST_BYTES && forms.len() > 1 {
            held -= forms.remove(0).bytes;
        }
        id
    }

    /// The form with this identifier, if it is the account's.
    pub(crate) fn of(&self, id: Uuid, account: AccountId, now: Instant) -> Option<SentForm> {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        forms.retain(|one| !is_over(one, now));
        let own = forms
            .iter()
            .find(|one| one.id == id && one.account == account);
        own.map(|one| one.form.clone())
    }

    /// Forgets the form of an account: it was saved.
    pub(crate) fn forget(&self, account: AccountId) {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        forms.retain(|one| one.account != account);
    }
}

fn is_over(kept: &Kept, now: Instant) -> bool {
    now.saturating_duration_since(kept.at) >= LASTS
}

fn signed(content: &str, path: &str) -> String {
    format!("monitor: an open form\0{content}\0{path}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PATH: &str = "/ui/applications";
    const NOW_MS: i64 = 1_700_000_000_000;

    fn account() -> AccountId {
        AccountId(Uuid::new_v4())
    }

    fn form(bytes: usize) -> SentForm {
        SentForm {
            path: PATH.to_owned(),
            fields: vec![("name".to_owned(), "x".repeat(bytes))],
        }
    }

    #[test]
    fn an_owner_token_is_for_one_account_path_and_time_and_of_this_process() {
        let (forms, ann) = (KeptForms::new(), account());
        let token = forms.owner_token(ann, PATH, NOW_MS).unwrap();
        assert_eq!(forms.owner(&token, PATH, NOW_MS), Some(ann));
        assert_eq!(
            forms.owner(&token, PATH, NOW_MS + LONGEST_OPEN_MS),
            Some(ann)
        );
        assert_eq!(
            forms.owner(&token, PATH, NOW_MS + LONGEST_OPEN_MS + 1),
            None
        );
        assert_eq!(forms.owner(&token, "/ui/users", NOW_MS), None);
        assert_eq!(KeptForms::new().owner(&token, PATH, NOW_MS), None);
        let other = token.replacen(
            &ann.0.simple().to_string(),
            &account().0.simple().to_string(),
            1,
        );
        for forged in [other.as_str(), "", ".", "..", "x.1.AAAA"] {
            assert_eq!(forms.owner(forged, PATH, NOW_MS), None, "{forged}");
        }
    }

    #[test]
    fn a_form_is_its_accounts_alone_for_a_short_time_and_one_of_each() {
        let (forms, ann, bob, now) = (KeptForms::new(), account(), account(), Instant::now());
        let first = forms.keep(ann, form(1), now);
        assert_eq!(forms.of(first, ann, now), Some(form(1)));
        assert_eq!(forms.of(first, bob, now), None);
        let second = forms.keep(ann, form(2), now);
        assert_eq!(forms.of(first, ann, now), None);
        assert_eq!(forms.of(second, ann, now), Some(form(2)));
        assert_eq!(forms.of(second, ann, now + LASTS), None);
        let third = forms.keep(ann, form(3), now);
        forms.forget(ann);
        assert_eq!(forms.of(third, ann, now), None);
    }

    #[test]
    fn all_forms_together_have_a_limit_and_the_oldest_goes_first() {
        let (forms, now) = (KeptForms::new(), Instant::now());
        let kept: Vec<_> = (0..10)
            .map(|_| {
                let account = account();
                (forms.keep(account, form(MOST_BYTES / 8), now), account)
            })
            .collect();
        let left = kept
            .iter()
            .filter(|(id, account)| forms.of(*id, *account, now).is_some());
        assert_eq!(left.count(), 7);
        let (newest, account) = kept[9];
        assert!(forms.of(newest, account, now).is_some());
    }
}

//! Passwords of people: Argon2id in PHC form, and their minimum length. A password is never stored, logged
//! or quoted. At most two are hashed at a time, since each takes 19 MiB, and one for each client or account: they
//! take fair turns, so that nobody keeps others from signing in.

use crate::analysis::error::{ApiError, FieldProblem};
use crate::fair_queue::{Claim, QUANTUM, Tenant, TurnLimits, Turns, Urgency, network};
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use monitor_model::Secret;
use monitor_store::AccountId;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The length of a password in characters.
const SHORTEST: usize = 12;
const LONGEST: usize = 200;
const AT_ONCE: usize = 2;
/// Memory in KiB, passes, lanes.
const COST: (u32, u32, u32) = (19 * 1024, 2, 1);

/// The longest wait for a turn.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

static TURNS: LazyLock<Arc<Turns>> = LazyLock::new(|| {
    Turns::new(TurnLimits {
        places: AT_ONCE,
        reserved: 1,
        short: QUANTUM,
        waiting_cost: u64::MAX,
        parts: 1,
        longest_wait: LONGEST_WAIT,
    })
});

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Person {
    /// Who signs in from this address.
    At(Option<IpAddr>),
    /// Whose account it is.
    Owner(AccountId),
}

impl Person {
    fn claim(self) -> Claim {
        let person = match self {
            Self::At(address) => Self::At(address.map(network)),
            Self::Owner(_) => self,
        };
        Claim {
            tenant: Tenant::new(&person, &()),
            urgency: Urgency::Awaited,
        }
    }
}

/// Checks a new password.
pub(crate) fn check(password: &Secret, name: &str) -> Result<(), FieldProblem> {
    let text = password.expose();
    let problem = |text: String| Err(FieldProblem::new("password", text));
    match text.chars().count() {
        length if length < SHORTEST => problem(format!(
            "is too short; allowed: {SHORTEST} to {LONGEST} characters"
        )),
        length if length > LONGEST => problem(format!(
            "is too long; allowed: {SHORTEST} to {LONGEST} characters"
        )),
        _ if text.to_lowercase() == name => {
            problem("is the same as the name; choose another one".to_owned())
        }
        _ if text.chars().all(|c| text.starts_with(c)) => {
            problem("repeats one character; choose another one".to_owned())
        }
        _ => Ok(()),
    }
}

/// The hash of a password, as stored.
pub(crate) async fn hash(password: Secret, person: Person) -> Result<String, ApiError> {
    let mut salt = [0u8; 16];
    getrandom::fill(&mut salt).map_err(|_| ApiError::Internal)?;
    in_turn(person, move || {
        let salt = SaltString::encode_b64(&salt).ok()?;
        let hash = argon2()?.hash_password(password.expose().as_bytes(), &salt);
        Some(hash.ok()?.to_string())
    })
    .await?
    .ok_or(ApiError::Internal)
}

/// Whether a password matches a hash. Without a hash it never does, after the same amount of work.
pub(crate) async fn matches(
    password: Secret,
    hash: Option<String>,
    person: Person,
) -> Result<bool, ApiError> {
    let Some(stored) = hash else {
        self::hash(password, person).await?;
        return Ok(false);
    };
    in_turn(person, move || {
        let parsed = PasswordHash::new(&stored).ok()?;
        Some(
            argon2()?
                .verify_password(password.expose().as_bytes(), &parsed)
                .is_ok(),
        )
    })
    .await
    .map(|right| right.unwrap_or(false))
}

fn argon2() -> Option<Argon2<'static>> {
    let (memory, passes, lanes) = COST;
    let params = Params::new(memory, passes, lanes, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

async fn in_turn<T: Send + 'static>(
    person: Person,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    let turn = TURNS.take(person.claim(), QUANTUM).await;
    let turn = turn.map_err(|_| ApiError::Overloaded)?;
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        // Held even when the caller goes away: the work goes on.
        drop(turn);
        done
    });
    done.await.map_err(|_| ApiError::Internal)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_tells_its_password_from_others_and_is_never_the_same_twice() {
        let right = || Secret::new("correct horse battery");
        let person = Person::At(None);
        let [one, other] = [hash(right(), person).await, hash(right(), person).await];
        let (one, other) = (one.unwrap(), other.unwrap());
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, other);
        assert!(matches(right(), Some(one.clone()), person).await.unwrap());
        assert!(
            !matches(Secret::new("correct horse batterY"), Some(one), person)
                .await
                .unwrap()
        );
        assert!(!matches(right(), None, person).await.unwrap());
        let nonsense = Some("nonsense".to_owned());
        assert!(!matches(right(), nonsense, person).await.unwrap());
    }

    #[tokio::test]
    async fn whoever_has_much_to_hash_keeps_nobody_waiting() {
        let [busy, other] = [1, 2].map(|last| Person::At(Some([192, 0, 2, last].into())));
        let password = || Secret::new("correct horse battery");
        let jobs: Vec<_> = (0..12)
            .map(|_| tokio::spawn(hash(password(), busy)))
            .collect();
        tokio::task::yield_now().await;
        hash(password(), other).await.unwrap();
        let done = jobs.iter().filter(|job| job.is_finished()).count();
        jobs.iter().for_each(tokio::task::JoinHandle::abort);
        assert!(done < 6, "{done}");
    }

    #[test]
    fn short_long_and_lazy_passwords_are_refused() {
        for bad in [
            "elevenchars",
            "administrator",
            "xxxxxxxxxxxxxxxx",
            &"ab".repeat(101),
        ] {
            assert!(check(&Secret::new(bad), "administrator").is_err(), "{bad}");
        }
        assert!(check(&Secret::new("двенадцать зн"), "admin").is_ok());
    }
}

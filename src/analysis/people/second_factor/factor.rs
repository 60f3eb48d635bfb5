//! A second factor as it is stored with its account: the secret, the latest step whose code was used, and the hashes
//! of the recovery codes that are left.

use super::totp::{SECRET, base32, secret_from_base32, step_of};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use monitor_model::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;

/// The first word of what is stored.
const KIND: &str = "totp1";
const RECOVERY_CODES: usize = 10;
/// Random bytes of a recovery code: too many to guess from its hash.
const RECOVERY_BYTES: usize = 10;
/// Bytes of the longest code that is looked at.
const LONGEST: usize = 64;

/// A second factor.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Factor {
    secret: [u8; SECRET],
    last_step: i64,
    recovery: Vec<String>,
}

/// A factor after one of its codes was used.
pub(super) struct Used {
    pub(super) factor: Factor,
    pub(super) by_recovery_code: bool,
}

/// Random bytes for a secret.
pub(super) fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0_u8; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

impl Factor {
    /// A factor of this secret in Base32, without recovery codes; no code of it was used yet.
    pub(super) fn new(secret: &Secret) -> Option<Self> {
        Some(Self {
            secret: secret_from_base32(secret.expose())?,
            last_step: 0,
            recovery: Vec::new(),
        })
    }

    /// What is stored, read.
    pub(super) fn read(stored: &str) -> Option<Self> {
        let parts: Vec<&str> = stored.split(' ').collect();
        let [KIND, secret, last_step, recovery] = *parts.as_slice() else {
            return None;
        };
        let recovery = recovery.split(',').filter(|hash| !hash.is_empty());
        Some(Self {
            secret: secret_from_base32(secret)?,
            last_step: last_step.parse().ok()?,
            recovery: recovery.map(str::to_owned).collect(),
        })
    }

    /// What is stored.
    pub(super) fn write(&self) -> String {
        let (secret, hashes) = (base32(&self.secret), self.recovery.join(","));
        format!("{KIND} {secret} {} {hashes}", self.last_step)
    }

    pub(super) fn recovery_codes(&self) -> usize {
        self.recovery.len()
    }

    /// The factor after this code, or recovery code, was used; None where it is wrong or was used before.
    pub(super) fn after(&self, given: &Secret, now_ms: i64) -> Option<Used> {
        let given = plain(given)?;
        let by_recovery_code = given.len() != 6;
        let mut factor = self.clone();
        match by_recovery_code {
            false => factor.last_step = step_of(&given, &self.secret, now_ms, self.last_step)?,
            true => {
                let hash = hash(&given);
                let is_it = |one: &String| bool::from(one.as_bytes().ct_eq(hash.as_bytes()));
                let at = factor.recovery.iter().position(is_it)?;
                factor.recovery.remove(at);
            }
        }
        Some(Used {
            factor,
            by_recovery_code,
        })
    }

    /// Gives it new recovery codes, which only their owner has from then on.
    pub(super) fn renew_recovery_codes(&mut self) -> Result<Vec<Secret>, getrandom::Error> {
        let codes: Result<Vec<String>, _> = (0..RECOVERY_CODES)
            .map(|_| random::<RECOVERY_BYTES>().map(|bytes| base32(&bytes)))
            .collect();
        let codes = codes?;
        self.recovery = codes.iter().map(|code| hash(code)).collect();
        Ok(codes.iter().map(|code| shown(code)).collect())
    }
}

/// Letters and digits of a typed code; None where it is far too long.
fn plain(given: &Secret) -> Option<String> {
    let text = given.expose();
    let signs = text.chars().filter(char::is_ascii_alphanumeric);
    (text.len() <= LONGEST).then(|| signs.map(|sign| sign.to_ascii_uppercase()).collect())
}

/// A recovery code in groups of four.
fn shown(code: &str) -> Secret {
    let mut text = String::new();
    for (at, letter) in code.to_ascii_lowercase().chars().enumerate() {
        if at > 0 && at.is_multiple_of(4) {
            text.push('-');
        }
        text.push(letter);
    }
    Secret::new(text)
}

fn hash(code: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(code.as_bytes()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_234_567_890_000;
    /// The secret of RFC 6238, appendix B, and its code at that time.
    const SECRET_TEXT: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    const CODE: &str = "005924";

    fn factor() -> Factor {
        Factor::new(&Secret::new(SECRET_TEXT)).unwrap()
    }

    #[test]
    fn what_is_stored_is_read_again_and_nothing_else() {
        let mut factor = factor();
        assert!(Factor::read(&factor.write()).unwrap() == factor);
        factor.renew_recovery_codes().unwrap();
        assert!(Factor::read(&factor.write()).unwrap() == factor);
        let whole = factor.write();
        for wrong in ["", "totp1", &whole[1..], &format!("{whole} x")] {
            assert!(Factor::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_code_works_once() {
        let factor = factor();
        let code = |text: &str| Secret::new(text);
        let used = factor.after(&code(" 005 924"), NOW_MS).unwrap();
        assert!(!used.by_recovery_code);
        assert!(used.factor.after(&code(CODE), NOW_MS).is_none());
        for wrong in ["", "005925", "00592", "0059240"] {
            assert!(factor.after(&code(wrong), NOW_MS).is_none(), "{wrong}");
        }
    }

    #[test]
    fn ten_recovery_codes_work_once_each_and_are_not_stored() {
        let mut factor = factor();
        let codes = factor.renew_recovery_codes().unwrap();
        assert_eq!(codes.len(), RECOVERY_CODES);
        for (at, code) in codes.iter().enumerate() {
            assert_eq!(code.expose().len(), 19);
            assert!(!factor.write().contains(code.expose()));
            let typed = Secret::new(code.expose().to_uppercase().replace('-', " "));
            let used = factor.after(&typed, NOW_MS).unwrap();
            assert!(used.by_recovery_code);
            factor = used.factor;
            assert!(factor.after(code, NOW_MS).is_none(), "{at}");
        }
        assert_eq!(factor.recovery_codes(), 0);
    }
}

//! Gap evidence on the wire (CONTRACT 5): `additional_parameters.chain` and what its hashes cover. The
//! gateway that numbers and the backend that checks count on the same two functions here; who gives
//! the numbers is `spool::sequence`, who keeps them is `store::chain`.
//!
//! - digest(record) = SHA-256 over request_id, stage, application_id, user_id, session_id and message,
//!   each with its length before it, as they stand in the call. Not over the marks beside them (`error`,
//!   `unchecked`, `incomplete`): these may be added while a record waits for its second try.
//! - link(record) = SHA-256 over the gateway's id, the sequence, `previous` and the digest.
//! - `previous` is the link of the record with the number before; 64 zeros for the first.

mod spans;

pub use spans::Span;

use super::analysis::Stage;
use ring::digest::{Context, SHA256};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::fmt;
use uuid::Uuid;

/// The additional parameter of a record that is its [`Chain`].
pub const CHAIN_PARAMETER: &str = "chain";

const IDENTITY: &[u8] = b"monitor record 1";
const LINK: &[u8] = b"monitor link 1";

/// A SHA-256, 64 hexadecimal digits as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainHash(pub [u8; 32]);

/// `{gateway, sequence, previous}` of one record, and `after` behind a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The gateway, or rather its spool's folder.
    pub gateway: Uuid,
    /// From 1, without a hole.
    pub sequence: u64,
    /// The link of the record before.
    pub previous: ChainHash,
    /// Only on the first record behind a cut: the last number the gateway is sure of. Those between may
    /// have been given out in its last moments, or not.
    pub after: Option<u64>,
}

/// What a record is, as its digest covers it.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The exchange, `additional_parameters.request_id`.
    pub request_id: Option<&'a str>,
    /// Which side of the exchange.
    pub stage: Stage,
    /// As the call names it.
    pub application_id: Option<&'a str>,
    /// The end user, `additional_parameters.user_id`.
    pub user_id: Option<&'a str>,
    /// The session, `additional_parameters.session_id`.
    pub session_id: Option<&'a str>,
    /// The text of the prompt or the answer.
    pub message: &'a str,
}

impl Identity<'_> {
    /// The SHA-256 digest that the next record of the chain names.
    pub fn digest(&self) -> ChainHash {
        let mut hasher = begun(IDENTITY);
        let fields = [
            self.request_id,
            Some(self.stage.as_str()),
            self.application_id,
            self.user_id,
            self.session_id,
            Some(self.message),
        ];
        for field in fields {
            // No text is that long: an absent one is not an empty one.
            let length = field.map_or(u64::MAX, |text| text.len() as u64);
            hasher.update(&length.to_le_bytes());
            hasher.update(field.unwrap_or_default().as_bytes());
        }
        ended(hasher)
    }
}

/// Not by `sha2`, which takes twice the instructions on processors without the SHA extensions.
fn begun(kind: &[u8]) -> Context {
    let mut hasher = Context::new(&SHA256);
    hasher.update(kind);
    hasher
}

fn ended(hasher: Context) -> ChainHash {
    let mut hash = ChainHash::default();
    hash.0.copy_from_slice(hasher.finish().as_ref());
    hash
}

/// As `additional_parameters` hold it.
impl Serialize for Chain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut gateway = Uuid::encode_buffer();
        let gateway: &str = self.gateway.hyphenated().encode_lower(&mut gateway);
        map.serialize_entry("gateway", gateway)?;
        map.serialize_entry("sequence", &self.sequence)?;
        map.serialize_entry("previous", &self.previous)?;
        if let Some(after) = self.after {
            map.serialize_entry("after", &after)?;
        }
        map.end()
    }
}

impl Chain {
    /// What the record behind this one names as its previous.
    pub fn link(&self, digest: ChainHash) -> ChainHash {
        let mut hasher = begun(LINK);
        hasher.update(self.gateway.as_bytes());
        hasher.update(&self.sequence.to_le_bytes());
        hasher.update(&self.previous.0);
        hasher.update(&digest.0);
        ended(hasher)
    }

    /// None where it is something else: other callers may use the key for something of their own.
    pub fn read(value: &Value) -> Option<Self> {
        // As far as the databases count.
        let number = |key: &str| value.get(key)?.as_u64().filter(|n| *n <= i64::MAX as u64);
        let text = |key: &str| value.get(key)?.as_str();
        let sequence = number("sequence").filter(|sequence| *sequence > 0)?;
        let after = match value.get("after") {
            None => None,
            Some(_) => Some(number("after").filter(|after| *after < sequence)?),
        };
        Some(Self {
            gateway: Uuid::try_parse(text("gateway")?).ok()?,
            sequence,
            previous: ChainHash::read(text("previous")?)?,
            after,
        })
    }
}

impl ChainHash {
    /// Of 64 hexadecimal digits.
    pub fn read(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut hash = [0; 32];
        for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *byte = u8::try_from(digit(0)? << 4 | digit(1)?).ok()?;
        }
        Some(Self(hash))
    }
}

impl ChainHash {
    /// Its digits, lent for as long as `whole` takes.
    fn digits<T>(&self, whole: impl FnOnce(&str) -> T) -> T {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        whole(std::str::from_utf8(&digits).unwrap_or_default())
    }
}

impl Serialize for ChainHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.digits(|digits| serializer.serialize_str(digits))
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits(|digits| f.pad(digits))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn chain() -> Chain {
        Chain {
            gateway: Uuid::from_u128(7),
            sequence: 3,
            previous: ChainHash([0xa5; 32]),
            after: Some(1),
        }
    }

    #[test]
    fn a_chain_comes_back_from_its_json_and_nothing_else_is_one() {
        for chain in [
            chain(),
            Chain {
                after: None,
                ..chain()
            },
        ] {
            assert_eq!(Chain::read(&json!(chain)), Some(chain));
        }
        for (key, bad) in [
            ("gateway", json!("gw-1")),
            ("sequence", json!(0)),
            ("sequence", json!("3")),
            ("sequence", json!(u64::MAX)),
            ("previous", json!("a5")),
            ("previous", json!("zz".repeat(32))),
            ("after", json!(3)),
        ] {
            let mut value = json!(chain());
            value[key] = bad.clone();
            assert_eq!(Chain::read(&value), None, "{key} {bad}");
        }
        assert_eq!(Chain::read(&json!(["chain"])), None);
    }

    #[test]
    fn contract_5_every_field_changes_the_digest_and_every_part_the_link() {
        let plain = Identity {
            request_id: Some("r"),
            stage: Stage::PreCall,
            application_id: None,
            user_id: Some("u"),
            session_id: None,
            message: "text",
        };
        let others = [
            Identity {
                request_id: None,
                ..plain
            },
            Identity {
                stage: Stage::PostCall,
                ..plain
            },
            Identity {
                application_id: Some(""),
                ..plain
            },
            Identity {
                user_id: None,
                session_id: Some("u"),
                ..plain
            },
            Identity {
                session_id: Some(""),
                ..plain
            },
            Identity {
                message: "texT",
                ..plain
            },
        ];
        let mut seen = vec![plain.digest()];
        seen.extend(others.iter().map(Identity::digest));
        let link = |chain: Chain| chain.link(plain.digest());
        seen.extend([
            link(chain()),
            link(Chain {
                sequence: 4,
                ..chain()
            }),
            link(Chain {
                gateway: Uuid::from_u128(8),
                ..chain()
            }),
            link(Chain {
                previous: ChainHash::default(),
                ..chain()
            }),
            chain().link(others[0].digest()),
        ]);
        let distinct: std::collections::HashSet<_> = seen.iter().collect();
        assert_eq!(distinct.len(), seen.len());
    }
}

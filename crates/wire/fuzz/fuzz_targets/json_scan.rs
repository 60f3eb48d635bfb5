//! The scanner against serde_json: both accept the same bodies, and find the same members at the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_wire::json::{Kind, scan, unescape};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The members of an object as serde_json reads them, duplicates included.
struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

fuzz_target!(|body: &[u8]| {
    let ours = scan(body);
    // Given bytes, serde_json does not look whether ignored strings are UTF-8; given a text, it need not.
    let Ok(text) = std::str::from_utf8(body) else {
        assert!(ours.is_err());
        return;
    };
    let theirs = serde_json::from_str::<IgnoredAny>(text);
    assert_eq!(ours.is_ok(), theirs.is_ok(), "{ours:?} and {theirs:?}");
    let Ok(scan) = ours else { return };
    let mut reader = serde_json::Deserializer::from_str(text);
    // Names with half a surrogate pair, which no text of theirs can hold, end the comparison.
    let Ok(expected) = reader.deserialize_map(Members) else {
        return;
    };
    assert_eq!(scan.kind(), Kind::Object);
    let members: Vec<_> = scan.members(body).collect();
    assert_eq!(members.len(), expected.len());
    for (member, (name, value)) in members.iter().zip(&expected) {
        assert_eq!(unescape(&body[member.key.clone()]), *name);
        assert_eq!(&text[member.value.clone()], value.get());
        assert!(scan.members_named(body, name).any(|named| named == *member));
    }
});

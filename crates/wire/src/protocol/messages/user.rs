//! The user in `metadata.user_id`. Claude Code writes several identifiers into it: since 2.1.78 a JSON object as text,
//! before that a word with parts. The session among them is not whose calls they are.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// The longest text in which identifiers are looked for.
const LONGEST: usize = 4_096;

/// Those that say who it is.
#[derive(Deserialize)]
struct Identifiers {
    account_uuid: Option<Value>,
    device_id: Option<Value>,
}

/// The user: an account, else a device, else the text as it is. None of an object with neither, and of one that is
/// not to be read.
pub(super) fn of(named: &str) -> Option<String> {
    let named = named.trim();
    let user = match named.starts_with('{') {
        true => of_object(named)?,
        false => of_word(named).unwrap_or(named).to_owned(),
    };
    // A header has none of these.
    let user: String = user.chars().filter(|c| !c.is_control()).collect();
    let user = user.trim();
    (!user.is_empty()).then(|| user.to_owned())
}

fn of_object(named: &str) -> Option<String> {
    if named.len() > LONGEST {
        return None;
    }
    let Ok(found) = serde_json::from_str::<Identifiers>(named) else {
        let is_json = serde_json::from_str::<IgnoredAny>(named).is_ok();
        return (!is_json).then(|| named.to_owned());
    };
    let found = [found.account_uuid, found.device_id].into_iter().flatten();
    let mut ids = found.filter_map(|id| Some(id.as_str()?.to_owned()));
    ids.find(|id| !id.trim().is_empty())
}

/// `user_DEVICE_account_ACCOUNT_session_SESSION`, where the account may be empty.
fn of_word(named: &str) -> Option<&str> {
    let (user, _) = named.rsplit_once("_session_")?;
    let (device, account) = user.split_once("_account_")?;
    let is_known = device.starts_with("user_");
    is_known.then_some(if account.is_empty() { device } else { account })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_is_the_account_else_the_device_else_the_text_and_never_the_session() {
        for (named, user) in [
            (
                r#"{"device_id":"d","account_uuid":"a","session_id":"s"}"#,
                Some("a"),
            ),
            (
                r#" {"device_id":"d","account_uuid":"","session_id":"s"}"#,
                Some("d"),
            ),
            (r#"{"device_id":"d","account_uuid":null}"#, Some("d")),
            (r#"{"session_id":"s"}"#, None),
            (r#"{"device_id":"d","account_uuid":7}"#, Some("d")),
            (
                r#"{"device_id":"d","device_id":"e","session_id":"s"}"#,
                None,
            ),
            ("user_d_account_a_session_s", Some("a")),
            ("user_d_account__session_s", Some("user_d")),
            ("anna_account_a_session_s", Some("anna_account_a_session_s")),
            ("{anna}", Some("{anna}")),
            ("anna\u{0}\n", Some("anna")),
            (" ", None),
            ("", None),
        ] {
            assert_eq!(of(named).as_deref(), user, "{named}");
        }
    }
}

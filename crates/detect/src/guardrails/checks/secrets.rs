//! Keys, tokens and passwords in an answer (§1.7): by the formats of their issuers, or by a label with a
//! value that looks random. Placeholders such as `your_api_key` or `xxxx` do not count.

use crate::guardrails::text::Text;
use crate::guardrails::{Category, Finding, Guardrail};
use regex::{Regex, RegexSet};

/// The guardrail of leaked secrets.
pub(crate) struct Secrets {
    /// Matches wherever one of the forms does, and in more places.
    forms: RegexSet,
    each: Vec<Regex>,
    labelled: Option<Regex>,
}

/// What a form is called in the reason, and the form.
const FORMS: [(&str, &str); 38] = [
    (
        "private_key",
        r"-----BEGIN (?:RSA |EC |DSA |OPENSSH |PGP |ENCRYPTED )?PRIVATE KEY(?: BLOCK)?-----",
    ),
    ("private_key", r"\bPuTTY-User-Key-File-[23]: "),
    ("private_key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    ("aws_key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    (
        "github_token",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{50,})\b",
    ),
    (
        "gitlab_token",
        r"\bgl(?:pat|rt|dt|ft|soat)-[A-Za-z0-9_-]{20,}",
    ),
    ("slack_token", r"\b(?:xox[abposr]|xapp)-[A-Za-z0-9-]{20,}"),
    (
        "webhook_address",
        r"hooks\.slack\.com/services/T[A-Z0-9]{8,}/B[A-Z0-9]{8,}/[A-Za-z0-9]{20,}",
    ),
    (
        "webhook_address",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{60,}",
    ),
    ("google_key", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("google_key", r"\bya29\.[0-9A-Za-z_-]{40,}"),
    ("google_key", r"\bGOCSPX-[0-9A-Za-z_-]{24,}"),
    (
        "model_api_key",
        r"\bsk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{24,}",
    ),
    (
        "model_api_key",
        r"\b(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{36,}",
    ),
    (
        "payment_key",
        r"\b(?:(?:sk|rk)_live_[0-9a-zA-Z]{20,}|whsec_[0-9a-zA-Z]{24,}|sq0[a-z]{3}-[0-9A-Za-z_-]{22,})",
    ),
    ("shop_token", r"\bshp(?:at|ca|pa|ss)_[0-9a-f]{32}\b"),
    (
        "jwt",
        r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16,}",
    ),
    ("telegram_token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}\b"),
    (
        "discord_token",
        r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}\b",
    ),
    ("package_token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("package_token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    ("package_token", r"\bdckr_pat_[A-Za-z0-9_-]{20,}"),
    ("hub_token", r"\bhf_[A-Za-z0-9]{30,}\b"),
    (
        "mail_key",
        r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}|\bkey-[0-9a-f]{32}\b",
    ),
    (
        "cloud_key",
        r"\b(?:AQVN[A-Za-z0-9_-]{34,}|y0_[A-Za-z0-9_-]{50,}|t1\.[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{60,})",
    ),
    ("cloud_key", r"\bdo[por]_v1_[0-9a-f]{64}\b"),
    (
        "cloud_key",
        r"\bHRKU-[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    ),
    ("cloud_key", r"\bAccountKey=[A-Za-z0-9+/]{60,}={0,2}"),
    ("cloud_key", r"\bdapi[0-9a-f]{32}\b"),
    ("vault_token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("vault_token", r"\bdp\.(?:pt|st|ct|sa)\.[A-Za-z0-9]{40,}"),
    ("tracker_token", r"\bATATT3[A-Za-z0-9_=-]{40,}"),
    (
        "tracker_token",
        r"\b(?:lin_api_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})\b",
    ),
    (
        "monitoring_key",
        r"\b(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|NRAK-[0-9A-Z]{27}|sntry[su]_[A-Za-z0-9+/=_-]{40,})",
    ),
    ("database_token", r"\bsbp_[0-9a-f]{40}\b"),
    ("monitor_token", r"\bmon_[A-Za-z0-9_-]{40,}"),
    (
        "password_in_address",
        r"\b[a-z][a-z0-9+]{2,15}://[^\s:/@]{0,64}:[^\s:/@]{3,128}@[^\s/@]{3,}",
    ),
    (
        "password_in_header",
        r"(?i)\bauthorization: basic [A-Za-z0-9+/]{16,}={0,2}",
    ),
];
/// A label, a sign, a value; the value is judged.
const LABELLED: &str = r#"(?i)(?:api[_ -]?key|secret(?:[_ -]?(?:key|access[_ -]?key))?|access[_ -]?token|auth[_ -]?token|bearer|password|passwd|пароль|секретный ключ|токен(?: доступа)?|ключ api)["'`*]{0,3}\s{0,3}(?::|=|—| is | - )\s{0,3}["'`*]{0,3}([^\s"'`<>,;]{8,128})"#;
/// Parts of values that stand as examples.
const EXAMPLES: [&str; 14] = [
    "example",
    "your",
    "xxx",
    "***",
    "...",
    "…",
    "changeme",
    "placeholder",
    "password",
    "пароль",
    "dummy",
    "sample",
    "12345",
    "env",
];
/// The shortest value that can be drawn by lot, and its least number of different characters.
const DRAWN: (usize, usize) = (12, 8);

impl Secrets {
    pub(crate) fn new() -> Self {
        let forms = FORMS.map(|(_, form)| form);
        Self {
            // A form that does not compile has a failing test, and finds nothing. Borders of words are left out
            // here: the regex engine has no quick way to see them in a text that is not all ASCII.
            forms: RegexSet::new(forms.map(|form| form.replace(r"\b", ""))).unwrap_or_default(),
            each: forms
                .iter()
                .filter_map(|form| Regex::new(form).ok())
                .collect(),
            labelled: Regex::new(LABELLED).ok(),
        }
    }
}

impl Guardrail for Secrets {
    fn category(&self) -> Category {
        Category::SecretLeak
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let text = text.original();
        for at in &self.forms.matches(text) {
            let mut finds = self.each.get(at)?.find_iter(text);
            if finds.any(|find| !is_example(find.as_str())) {
                return Some(Finding {
                    score: 0.95,
                    reason: FORMS[at].0,
                });
            }
        }
        let mut labelled = self.labelled.as_ref()?.captures_iter(text);
        let value = labelled.find_map(|find| find.get(1).filter(|value| is_drawn(value.as_str())));
        value.map(|_| Finding {
            score: 0.7,
            reason: "labelled_secret",
        })
    }
}

fn is_example(value: &str) -> bool {
    let lower = value.to_lowercase();
    EXAMPLES.iter().any(|example| lower.contains(example))
}

/// Whether a value looks drawn by lot: long, of several kinds of characters, few of them twice.
fn is_drawn(value: &str) -> bool {
    let value = value.trim_end_matches(['.', ')', ']', '*', ':']);
    let kinds = [
        value.bytes().any(|byte| byte.is_ascii_digit()),
        value.bytes().any(|byte| byte.is_ascii_lowercase()),
        value.bytes().any(|byte| byte.is_ascii_uppercase()),
        value.bytes().any(|byte| byte.is_ascii_punctuation()),
    ];
    let mut different: Vec<u8> = value.bytes().collect();
    different.sort_unstable();
    different.dedup();
    let is_code = value.contains(['(', '{', '[', '/']) || value.starts_with(['$', '%']);
    let kinds = kinds.iter().filter(|is| **is).count();
    let has_digits = value.bytes().any(|byte| byte.is_ascii_digit());
    value.is_ascii()
        && value.len() >= DRAWN.0
        && different.len() >= DRAWN.1
        && kinds >= 2
        && has_digits
        && !is_code
        && !is_example(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_compiles() {
        let secrets = Secrets::new();
        assert_eq!(
            (secrets.each.len(), secrets.forms.len()),
            (FORMS.len(), FORMS.len())
        );
        assert!(secrets.labelled.is_some());
    }
}

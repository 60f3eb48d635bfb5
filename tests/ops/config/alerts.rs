//! Rules and channels of alerts in the file: what they take, and what they refuse with the way out (CONTRACT 33).

use super::world::{Folder, check};

#[test]
fn b10_rules_and_channels_are_taken_under_the_analysis_servers_keys_in_every_role() {
    let folder = Folder::new();
    let secret = folder.file("secret", "s3cret\n");
    let own = format!(
        "alerts:\n  channels:\n    \
         - {{name: hook, kind: webhook, url: \"https://a.example/x\", secret_file: {secret}}}\n    \
         - {{name: bot, kind: telegram, secret: \"1:a\", chat: \"-100\"}}\n    \
         - {{name: mail, kind: email, url: \"smtp.example:587\", from: m@a.example, to: [b@a.example]}}\n  rules:\n    \
         - {{name: Blocked, kind: count, verdict: blocked, window: 5m, channels: [hook, mail]}}\n    \
         - {{name: Share, kind: share, verdict: dataclean, threshold: 50}}\n    \
         - {{name: Spent, kind: budget, threshold: 150, repeat_after: 1d, send_resolved: false}}\n",
        secret = secret.display()
    );
    let run = check("analysis", &own, &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let below: String = own.lines().map(|line| format!("  {line}\n")).collect();
    let run = check("all", &format!("analysis:\n{below}"), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn b10_what_is_wrong_with_a_channel_is_named_with_its_key_and_no_secret() {
    let mail =
        "name: m, kind: email, url: \"smtp.example:587\", from: m@a.example, to: [b@a.example]";
    let hook = "name: h, kind: webhook, url: \"https://a.example\"";
    for (list, said) in [
        ("{kind: slack}".to_owned(), "[0].name: is not set"),
        (
            "{name: a}".to_owned(),
            "[0].kind: is not set; allowed: webhook, slack",
        ),
        (
            "{name: a, kind: slack, url: \"s3cret\"}".to_owned(),
            "[0].url: must be an address",
        ),
        (
            format!("{{{hook}, url_file: /none}}"),
            "[0].url_file: conflicts with url",
        ),
        (
            format!("{{{hook}, secret_file: /none/there}}"),
            "[0].secret_file: /none/there cannot be read",
        ),
        (
            format!("{{{hook}, to: [b@a.example]}}"),
            "[0].to: is for email only",
        ),
        (
            format!("{{{hook}, chat: x}}"),
            "[0].chat: is for telegram only",
        ),
        (
            format!("{{{mail}, secret: s3cret}}"),
            "[0].user: must be the name that the password is of",
        ),
        (
            format!("{{{mail}, tls: maybe}}"),
            "[0].tls: \"maybe\" is unknown",
        ),
        (
            "{name: m, kind: email, url: smtp.example, from: x, to: []}".to_owned(),
            "[0].url: must be host and port of a mail server",
        ),
        (
            format!("{{{hook}, colour: red}}"),
            "[0].colour: is an unknown key",
        ),
        (
            format!("{{{hook}}}\n    - {{{hook}}}"),
            "[1].name: is the name of another channel",
        ),
    ] {
        let text = format!("alerts:\n  channels:\n    - {list}\n");
        let run = check("analysis", &text, &[]);
        assert_eq!(run.code, 2, "{list}");
        let said = format!("alerts.channels{said}");
        assert!(run.stderr.contains(&said), "{list}: {}", run.stderr);
        assert!(!run.stderr.contains("s3cret"), "{}", run.stderr);
    }
}

#[test]
fn b10_what_contradicts_itself_in_a_rule_is_named_with_its_key() {
    let rule = "name: r, kind: gateway_silent";
    for (list, said) in [
        ("{kind: budget}".to_owned(), "[0].name: is not set"),
        (
            "{name: a, kind: pigeon}".to_owned(),
            "[0].kind: \"pigeon\" is unknown",
        ),
        (
            "{name: a, kind: count}".to_owned(),
            "[0].verdict: is not one of the list",
        ),
        (
            "{name: a, kind: share, verdict: blocked, window: 90m}".to_owned(),
            "[0].window: must be whole hours",
        ),
        (
            "{name: a, kind: share, verdict: blocked, threshold: 101}".to_owned(),
            "[0].threshold: is out of range",
        ),
        (format!("{{{rule}, type: CVC}}"), "[0].type: does not apply"),
        (
            format!("{{{rule}, channels: [pager]}}"),
            "[0].channels: names a channel that alerts.channels does not have",
        ),
        (
            format!("{{{rule}}}\n    - {{{rule}}}"),
            "[1].name: is the name of another rule",
        ),
        (
            format!("{{{rule}, colour: red}}"),
            "[0].colour: is an unknown key",
        ),
    ] {
        let run = check(
            "analysis",
            &format!("alerts:\n  rules:\n    - {list}\n"),
            &[],
        );
        assert_eq!(run.code, 2, "{list}");
        let said = format!("alerts.rules{said}");
        assert!(run.stderr.contains(&said), "{list}: {}", run.stderr);
    }
}

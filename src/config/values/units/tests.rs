//! Forms of values: what each takes, and what it says of anything else.

use super::*;

#[test]
fn durations_take_a_unit_or_bare_seconds() {
    for (text, millis) in [
        ("500ms", Some(500)),
        ("60s", Some(60_000)),
        ("60", Some(60_000)),
        ("0.25", Some(250)),
        ("2m", Some(120_000)),
        ("1.5 h", Some(5_400_000)),
        ("7d", Some(604_800_000)),
        ("0", Some(0)),
        ("", None),
        ("s", None),
        ("-1s", None),
        ("1.2.3", None),
        ("1e3", None),
        ("5 parsecs", None),
        ("99999999999999999999999999999", None),
    ] {
        let expected = millis.map(Duration::from_millis);
        assert_eq!(duration_from_text(text), expected, "{text:?}");
    }
}

#[test]
fn sizes_take_binary_and_decimal_units() {
    for (text, bytes) in [
        ("0", Some(0)),
        ("20MiB", Some(20 << 20)),
        ("64 KiB", Some(64 << 10)),
        ("1GiB", Some(1 << 30)),
        ("5kB", Some(5_000)),
        ("5MB", Some(5_000_000)),
        ("12B", Some(12)),
        ("1.5MiB", None),
        ("20mib", None),
        ("-1", None),
        ("99999999999GiB", None),
    ] {
        assert_eq!(parse_size(text), bytes, "{text:?}");
    }
}

#[test]
fn durations_are_shown_as_they_are_written() {
    for (millis, text) in [(0, "0s"), (1, "1ms"), (1_500, "1500ms"), (60_000, "1m")] {
        assert_eq!(show_duration(Duration::from_millis(millis)), text);
    }
    assert_eq!(show_duration(Duration::from_secs(86_400)), "24h");
}

#[test]
fn a_misspelt_log_level_is_not_taken_for_a_target() {
    assert!(log_filter().parse("info,pingora_core=warn").is_ok());
    for text in ["inof", "", "info,=warn", "info,pingora_core", "a=loud"] {
        assert!(log_filter().parse(text).is_err(), "{text:?}");
    }
    let refused = log_filter().parse("info, h2").unwrap_err();
    assert!(refused.contains("h2=warn"), "{refused}");
}

#[test]
fn an_access_key_is_never_quoted() {
    let message = access_key().parse("mon_ with spaces").unwrap_err();
    assert!(!message.contains("mon_"), "{message}");
    let message = application_id().parse("mon_0123456789").unwrap_err();
    assert!(!message.contains("mon_"), "{message}");
}

//! The keys of signing in by an identity provider: what belongs to one, and what cannot be meant.

use super::world::check;

#[test]
fn what_cannot_be_meant_together_is_refused_with_its_key() {
    for (yaml, key, words) in [
        ("client_id: x", "client_id", "no effect without a provider"),
        (
            "client_secret: hush",
            "client_secret",
            "no effect without a provider",
        ),
        (
            "issuer: \"https://id.example\"",
            "client_id",
            "OIDC_CLIENT_ID",
        ),
        (
            "issuer: \"http://id.example\", client_id: x",
            "issuer",
            "clear text",
        ),
        (
            "issuer: \"https://u:hush@id.example\", client_id: x",
            "issuer",
            "is not a valid URL",
        ),
        (
            "issuer: \"https://id.example\", client_id: x, scopes: email",
            "scopes",
            "no identity",
        ),
        (
            "issuer: \"https://id.example\", client_id: x, default_role: king",
            "default_role",
            "analyst",
        ),
        (
            "issuer: \"https://id.example\", client_id: x, roles: {analyst: sec}",
            "roles",
            "role_claim",
        ),
    ] {
        let file = format!("sign_in: {{oidc: {{{yaml}}}}}");
        let run = check("analysis", &file, &[]);
        assert_ne!(run.code, 0, "{yaml}");
        assert!(
            run.stderr.contains(&format!("sign_in.oidc.{key}")),
            "{key}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(words), "{words}: {}", run.stderr);
        assert!(!run.stderr.contains("hush"), "{}", run.stderr);
    }
}

#[test]
fn a_provider_with_all_it_needs_is_taken() {
    let full = "analysis: {sign_in: {oidc: {issuer: \"https://id.example/realms/a\", client_id: m, client_secret: hush, \
        label: Corp, scopes: openid groups, role_claim: realm_access.roles, \
        roles: {administrator: ops, analyst: \"sec, audit\", reviewer: staff}, default_role: developer, allowed_domains: a.example}}}";
    let local = "analysis: {sign_in: {oidc: {issuer: \"http://127.0.0.1:8080\", client_id: m}}}";
    for yaml in [full, local] {
        let run = check("all", yaml, &[]);
        assert_eq!(run.code, 0, "{yaml}: {}", run.stderr);
        assert!(!run.stdout.contains("hush"), "{}", run.stdout);
    }
    let by_environment = [
        ("OIDC_ISSUER", "https://id.example"),
        ("OIDC_CLIENT_ID", "m"),
        ("OIDC_CLIENT_SECRET", "s"),
    ];
    let run = check("analysis", "", &by_environment);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn a_second_factor_is_required_by_true_and_by_nothing_else() {
    let file = |value: &str| format!("sign_in: {{require_second_factor: {value}}}");
    for value in ["true", "false"] {
        let run = check("analysis", &file(value), &[]);
        assert_eq!(run.code, 0, "{value}: {}", run.stderr);
    }
    let run = check("analysis", &file("sometimes"), &[]);
    assert_ne!(run.code, 0);
    let key = "sign_in.require_second_factor";
    assert!(run.stderr.contains(key), "{}", run.stderr);
}

//! Files that a configuration names, and the configuration's own: what cannot be read or used is refused by
//! its name.

use super::world::{Folder, Run, check, monitor};

/// `monitor check` of one listener with these TLS settings.
fn check_tls(tls: &str) -> Run {
    check(
        "all",
        &format!("listen:\n- address: 127.0.0.1:0\n  tls: {tls}"),
        &[],
    )
}

#[test]
fn a_tls_listener_needs_both_files() {
    for (tls, expected) in [
        ("{cert: c.pem}", "f.yaml:3: listen[0].tls.key: is not set"),
        ("{key: k.pem}", "f.yaml:3: listen[0].tls.cert: is not set"),
        (
            "true",
            "f.yaml:3: listen[0].tls: is true or false; allowed: cert and key",
        ),
    ] {
        let run = check_tls(tls);
        assert!(run.stderr.starts_with(expected), "{tls}: {}", run.stderr);
        assert_eq!(
            (run.code, run.stderr.lines().count()),
            (2, 1),
            "{tls}: {}",
            run.stderr
        );
    }
}

#[test]
fn files_that_are_named_must_be_readable() {
    let folder = Folder::new();
    let file = folder.file("x.pem", "x").display().to_string();
    let here = folder.path().display().to_string();
    for key in [format!("{here}/none"), here.clone()] {
        let run = check_tls(&format!("{{cert: {file}, key: {key}}}"));
        assert!(
            run.stderr.starts_with("f.yaml:1: listen: tls.key "),
            "{}",
            run.stderr
        );
        assert_eq!(
            (run.code, run.stderr.lines().count()),
            (2, 1),
            "{}",
            run.stderr
        );
    }
    let run = check_tls(&format!("{{cert: {file}, key: {file}}}"));
    assert!(
        run.stderr.contains("x.pem: contains no certificate"),
        "{}",
        run.stderr
    );
    let run = check_tls(&format!("{{cert: /dev/zero, key: {file}}}"));
    let expected = "tls.cert /dev/zero cannot be read: it is not a file";
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    let (cert, key) = pair(&folder);
    let run = check_tls(&format!("{{cert: {cert}, key: {key}}}"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("127.0.0.1:0 (TLS)"), "{}", run.stdout);

    let ca = |path: &str| {
        check(
            "all",
            &format!("upstream: {{url: https://m, ca: {path}}}"),
            &[],
        )
    };
    let run = ca(&format!("{here}/none"));
    assert!(
        run.stderr.starts_with("f.yaml:1: upstream.ca: "),
        "{}",
        run.stderr
    );
    assert_eq!(ca(&cert).stderr, "");
}

/// A certificate and its key.
pub(super) fn pair(folder: &Folder) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let write = |name: &str, text: String| folder.file(name, text).display().to_string();
    let cert = write("cert.pem", made.cert.pem());
    (cert, write("key.pem", made.signing_key.serialize_pem()))
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let folder = Folder::new();
    let missing = folder.path().join("none.yaml");
    let run = monitor(
        &[
            "check",
            "--role",
            "gateway",
            "--config",
            missing.to_str().unwrap(),
        ],
        &[],
    );
    assert!(
        run.stderr.contains("none.yaml: cannot be read: "),
        "{}",
        run.stderr
    );
    assert_eq!((run.code, run.stderr.lines().count()), (2, 1));
    let binary = folder.file("binary.yaml", [0xff, 0xfe, 0x00]);
    let run = monitor(
        &[
            "check",
            "--role",
            "gateway",
            "--config",
            binary.to_str().unwrap(),
        ],
        &[],
    );
    assert!(
        run.stderr.contains("binary.yaml: is not UTF-8 text"),
        "{}",
        run.stderr
    );
    assert_eq!((run.code, run.stderr.lines().count()), (2, 1));
}

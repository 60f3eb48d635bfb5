//! What an operator finds once the package is installed.

use super::deb::Deb;
use super::{read, run};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};

const ROLES: [&str; 3] = ["all", "gateway", "analysis"];

/// Every subcommand that is shown, by `monitor help`.
fn commands(deb: &Deb) -> Vec<String> {
    let help = run(deb.program().arg("help"));
    let listed = help.split("Commands:\n").nth(1).unwrap();
    let lines = listed.lines().take_while(|line| line.starts_with("  "));
    let names = lines.filter_map(|line| line.split_whitespace().next());
    let names: Vec<String> = names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert!(names.contains(&"gateway".to_owned()), "{help}");
    names
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn the_package_holds_program_units_settings_pages_and_completions() {
    let deb = Deb::built();
    let listing = deb.listing();
    let holds = |mode: &str, path: &str| {
        let line = listing
            .lines()
            .find(|line| line.ends_with(&format!(" ./{path}")));
        let line = line.unwrap_or_else(|| panic!("no {path} in\n{listing}"));
        assert!(
            line.starts_with(mode) && line.contains(" root/root "),
            "{line}"
        );
    };
    holds("-rwxr-xr-x", "usr/bin/monitor");
    for unit in ["monitor", "monitor-gateway", "monitor-analysis"] {
        holds(
            "-rw-r--r--",
            &format!("usr/lib/systemd/system/{unit}.service"),
        );
    }
    holds("-rw-r--r--", "usr/lib/sysusers.d/monitor-gateway.conf");
    for role in ROLES {
        holds("-rw-r--r--", &format!("etc/monitor/{role}.yaml"));
        holds("-rw-------", &format!("etc/monitor/{role}.env"));
    }
    for path in [
        "man/man1/monitor.1.gz",
        "bash-completion/completions/monitor",
        "zsh/vendor-completions/_monitor",
        "fish/vendor_completions.d/monitor.fish",
        "doc/monitor-gateway/copyright",
        "doc/monitor-gateway/changelog.gz",
        "doc/monitor-gateway/NOTICE",
        "doc/monitor-gateway/README.md.gz",
        "doc/monitor-gateway/docs/operations.md.gz",
        "doc/monitor-gateway/sbom.cdx.json",
        "doc/monitor-gateway/grafana/monitor.json",
        "doc/monitor-gateway/prometheus/alerts.yaml",
    ] {
        holds("-rw-r--r--", &format!("usr/share/{path}"));
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn its_description_says_version_libraries_and_settings() {
    let deb = Deb::built();
    assert_eq!(deb.field("Package"), "monitor-gateway");
    assert_eq!(deb.field("Version"), env!("CARGO_PKG_VERSION"));
    let needs = deb.field("Depends");
    assert!(needs.starts_with("libc6 (>= 2."), "{needs}");
    let settings: BTreeSet<String> = deb
        .control("conffiles")
        .lines()
        .map(str::to_owned)
        .collect();
    let expected = ROLES
        .iter()
        .flat_map(|role| ["yaml", "env"].map(|kind| format!("/etc/monitor/{role}.{kind}")));
    assert_eq!(settings, expected.collect());
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn its_program_runs_and_its_settings_are_good() {
    let deb = Deb::built();
    let version = run(deb.program().arg("--version"));
    assert_eq!(
        version.trim(),
        format!("monitor {}", env!("CARGO_PKG_VERSION"))
    );
    for role in ROLES {
        let file = deb.installed(&format!("etc/monitor/{role}.yaml"));
        let mut check = deb.program();
        check.args(["check", "--role", role, "--config"]).arg(file);
        // What a gateway cannot do without is for the operator to say.
        let said = run(check.env("UPSTREAM_URL", "http://127.0.0.1:9"));
        assert!(said.contains(": ok"), "{said}");
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn its_pages_explain_every_command() {
    let deb = Deb::built();
    let page = deb.unpacked("usr/share/man/man1/monitor.1.gz");
    assert!(
        page.contains(".TH monitor 1") && page.contains("UPSTREAM_URL"),
        "{page}"
    );
    for command in commands(deb) {
        let path = format!("usr/share/man/man1/monitor-{command}.1.gz");
        assert!(deb.unpacked(&path).contains(".SH NAME"), "{path}");
    }
    // The units point at it.
    assert!(read("systemd/monitor.service").contains("Documentation=man:monitor(1)"));
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn its_completions_know_every_command() {
    let deb = Deb::built();
    let commands = commands(deb);
    for path in [
        "zsh/vendor-completions/_monitor",
        "fish/vendor_completions.d/monitor.fish",
    ] {
        let text = deb.read(&format!("usr/share/{path}"));
        for command in &commands {
            assert!(
                text.contains(command.as_str()),
                "{path} does not know {command}"
            );
        }
    }
    let bash = deb.installed("usr/share/bash-completion/completions/monitor");
    let typed = r#"source "$0"; COMP_WORDS=(monitor ""); COMP_CWORD=1; _monitor monitor "" monitor; echo "${COMPREPLY[*]}""#;
    let offered = run(Command::new("bash").args(["-c", typed]).arg(bash));
    let offered: BTreeSet<&str> = offered.split_whitespace().collect();
    for command in &commands {
        assert!(
            offered.contains(command.as_str()),
            "bash does not offer {command}: {offered:?}"
        );
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn its_scripts_do_nothing_where_no_service_manager_runs() {
    let deb = Deb::built();
    let cases = [
        ("postinst", vec!["configure", ""]),
        ("postinst", vec!["configure", "4.0.0"]),
        ("prerm", vec!["upgrade", "4.1.1"]),
        ("postrm", vec!["remove"]),
    ];
    for (name, arguments) in cases {
        let script = deb
            .control(name)
            .replace("/run/systemd/system", "/nonexistent");
        let mut shell = Command::new("sh");
        shell.args(["-eu", "-c", &script, name]).args(&arguments);
        assert_eq!(run(shell.stdin(Stdio::null())), "", "{name} {arguments:?}");
    }
}

/// What the script after an installation says and does, where every service's main process is this.
fn installed_over(deb: &Deb, main: &str) -> String {
    let script = deb.control("postinst").replace("/run/systemd/system", "/");
    let manager = r#"systemctl() { case "$1" in show) echo "$MAIN" ;; esac; }
kill() { echo "kill $*"; }
"#;
    let mut shell = Command::new("sh");
    shell.args(["-eu", "-c", &(manager.to_owned() + &script), "postinst"]);
    shell.args(["configure", "4.0.0"]).env("MAIN", main);
    run(shell.stdin(Stdio::null()))
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn an_upgrade_of_it_signals_main_processes_and_nothing_else() {
    let deb = Deb::built();
    let said = installed_over(deb, "4242");
    assert_eq!(said.matches("kill -QUIT 4242\n").count(), 3, "{said}");
    // A service that is being restarted has none.
    for none in ["0", ""] {
        assert_eq!(installed_over(deb, none), "", "{none:?}");
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn its_services_may_read_keys_of_the_group_that_it_makes() {
    let deb = Deb::built();
    let users = deb.read("usr/lib/sysusers.d/monitor-gateway.conf");
    assert!(
        users.lines().any(|line| line == "g monitor-tls -"),
        "{users}"
    );
    for unit in ["monitor", "monitor-gateway", "monitor-analysis"] {
        let text = deb.read(&format!("usr/lib/systemd/system/{unit}.service"));
        let group = "SupplementaryGroups=monitor-tls";
        assert!(text.lines().any(|line| line == group), "{unit}");
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn its_bill_of_materials_names_every_crate_with_licence_and_checksum() {
    let deb = Deb::built();
    let text = deb.read("usr/share/doc/monitor-gateway/sbom.cdx.json");
    let bill: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&bill["bomFormat"], &bill["specVersion"]),
        (&"CycloneDX".into(), &"1.5".into())
    );
    let product = &bill["metadata"]["component"];
    assert_eq!(
        product["purl"],
        concat!("pkg:cargo/monitor-gateway@", env!("CARGO_PKG_VERSION"))
    );
    let parts = bill["components"].as_array().unwrap();
    let names: BTreeSet<&str> = parts
        .iter()
        .filter_map(|part| part["name"].as_str())
        .collect();
    assert!(
        ["pingora-core", "rustls", "sqlx", "regex"]
            .iter()
            .all(|name| names.contains(name))
    );
    assert!(!names.contains("rcgen"), "what only tests need is no part");
    for part in parts {
        assert!(part["licenses"][0]["expression"].is_string(), "{part}");
        // A crate of the project itself has none.
        let name = part["name"].as_str().unwrap_or_default();
        let own = name == "libz-ng-sys" || name.starts_with("monitor-");
        assert_eq!(part["hashes"][0]["content"].is_string(), !own, "{part}");
    }
    let known = |reference: &serde_json::Value| {
        parts
            .iter()
            .chain([product])
            .any(|part| part["bom-ref"] == *reference)
    };
    for entry in bill["dependencies"].as_array().unwrap() {
        assert!(known(&entry["ref"]), "{entry}");
        assert!(
            entry["dependsOn"].as_array().unwrap().iter().all(known),
            "{entry}"
        );
    }
}

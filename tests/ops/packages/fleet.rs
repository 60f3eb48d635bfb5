//! The image and the example of a fleet, read as the tools would read them: what they name is there, what
//! they set is understood by the program, and nothing runs with more rights than it needs.

use super::{read, run};
use saphyr::{LoadableYamlNode, Yaml};
use std::path::Path;
use std::process::Command;

/// Lines of the Dockerfile that begin with that word, continuation lines joined.
fn instructions(word: &str) -> Vec<String> {
    let text = read("packaging/Dockerfile").replace("\\\n", " ");
    let lines = text.lines().filter_map(|line| line.strip_prefix(word));
    lines.map(|rest| rest.trim().to_owned()).collect()
}

#[test]
fn the_image_runs_without_rights_and_has_what_it_names() {
    let bases = instructions("FROM");
    assert_eq!(bases.last().unwrap(), "${BASE_IMAGE}");
    // A distroless base without a shell, whose user is no root; and no root where another base takes its place.
    let defaults = instructions("ARG");
    let base = defaults
        .iter()
        .find_map(|default| default.strip_prefix("BASE_IMAGE="))
        .unwrap();
    assert!(
        base.contains("distroless") && base.ends_with(":nonroot"),
        "{base}"
    );
    assert_eq!(instructions("USER"), ["65532:65532"]);
    for copy in instructions("COPY") {
        let words: Vec<&str> = copy
            .split_whitespace()
            .filter(|word| !word.starts_with("--"))
            .collect();
        if !copy.contains("--from=") {
            // The files of a release are made before the image.
            let sources = words[..words.len() - 1].iter();
            for source in sources.filter(|source| !source.starts_with("target/")) {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
                assert!(path.exists(), "{copy}");
            }
        }
    }
    let built = instructions("RUN").join("\n");
    assert!(built.contains("packaging/build.sh"), "{built}");
    let ignored = read(".dockerignore");
    let ignored: Vec<&str> = ignored.lines().collect();
    // The last line that fits counts.
    let files = ["target", "!target/release-files"];
    assert_eq!(ignored[ignored.len() - 2..], files, "{ignored:?}");
    let started = instructions("ENTRYPOINT");
    let program = "/usr/bin/monitor";
    assert_eq!(started, [format!("[\"{program}\"]")]);
    assert!(
        instructions("COPY")
            .iter()
            .any(|copy| copy.ends_with(program))
    );
    // All in one listens on loopback unless its file says otherwise.
    assert_eq!(
        instructions("CMD"),
        ["[\"all\", \"--config\", \"/etc/monitor/all.yaml\"]"]
    );
    let files = instructions("COPY");
    let shipped =
        |copy: &String| copy.contains("conf/all.yaml") && copy.ends_with(" /etc/monitor/");
    assert!(files.iter().any(shipped), "{files:?}");
    let kept = instructions("VOLUME");
    assert_eq!(
        instructions("ENV"),
        [format!("MONITOR_DATA_DIR={}", kept[0])]
    );
    assert_eq!(instructions("EXPOSE"), ["4100 4200"]);
}

fn fleet() -> String {
    // What the operator says before.
    let text = read("packaging/compose.yaml");
    let values = [
        ("UPSTREAM_URL", "https://model.example"),
        ("DB_PASSWORD", "secret"),
        ("GATEWAY_DB_PASSWORD", "other"),
        ("POSTGRES_IMAGE", "postgres:16"),
    ];
    let pattern = regex::Regex::new(r"\$\{([A-Z_]+)[^}]*\}").unwrap();
    let filled = pattern.replace_all(&text, |found: &regex::Captures<'_>| {
        let known = values.iter().find(|(name, _)| *name == &found[1]);
        known
            .unwrap_or_else(|| panic!("{} is unknown", &found[0]))
            .1
            .to_owned()
    });
    filled.into_owned()
}

fn get<'a>(node: &'a Yaml<'a>, key: &str) -> &'a Yaml<'a> {
    node.as_mapping_get(key)
        .unwrap_or_else(|| panic!("no {key} in {node:?}"))
}

fn texts<'a>(node: &'a Yaml<'a>) -> Vec<&'a str> {
    let list = node.as_vec().unwrap().iter();
    list.map(|entry| entry.as_str().unwrap()).collect()
}

/// Variables of a service, with those of the mapping that it merges.
fn variables(service: &Yaml<'_>) -> Vec<(String, String)> {
    let environment = get(service, "environment");
    let merged = environment.as_mapping_get("<<");
    let maps = [merged, Some(environment)].into_iter().flatten();
    let pairs = maps.flat_map(|map| map.as_mapping().unwrap().iter());
    let pairs = pairs.filter_map(|(name, value)| Some((name.as_str()?, value.as_str()?)));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn the_services_of_the_fleet_are_understood_by_the_program() {
    let text = fleet();
    let documents = Yaml::load_from_str(&text).unwrap();
    let services = get(&documents[0], "services");
    for role in ["analysis", "gateway"] {
        let service = get(services, role);
        assert_eq!(texts(get(service, "command")), [role]);
        let variables = variables(service);
        assert!(
            variables.iter().any(|(name, _)| name == "STORE_HOST"),
            "{variables:?}"
        );
        let mut check = Command::new(env!("CARGO_BIN_EXE_monitor"));
        check
            .args(["check", "--role", role])
            .env_clear()
            .envs(variables);
        let said = run(check.env("MONITOR_DATA_DIR", "/var/lib/monitor"));
        assert!(said.contains(": ok"), "{said}");
    }
}

#[test]
fn the_gateway_of_the_fleet_does_not_know_the_password_of_the_store() {
    let text = fleet();
    let documents = Yaml::load_from_str(&text).unwrap();
    let services = get(&documents[0], "services");
    let known = |role: &str, name: &str| {
        // The last one counts, as for a process.
        let variables = variables(get(services, role)).into_iter().rev();
        let mut values = variables.filter_map(|(key, value)| (key == name).then_some(value));
        values.next().unwrap()
    };
    assert_eq!(known("analysis", "STORE_USER"), "monitor");
    assert_eq!(known("gateway", "STORE_USER"), "gateway");
    assert_eq!(known("gateway", "STORE_PASSWORD"), "other");
    // Its role is made by a service that ends, with the one right that it needs.
    let made = texts(get(get(services, "gateway-role"), "command")).concat();
    let grants = made.lines().filter(|line| line.contains("GRANT"));
    let grants: Vec<&str> = grants.map(str::trim).collect();
    assert_eq!(grants, ["GRANT SELECT ON gateway_policies TO gateway;"]);
}

#[test]
fn the_services_of_the_fleet_may_write_nothing_but_their_volume() {
    let text = fleet();
    let documents = Yaml::load_from_str(&text).unwrap();
    let services = get(&documents[0], "services");
    let named = get(&documents[0], "volumes");
    for role in ["analysis", "gateway"] {
        let service = get(services, role);
        assert_eq!(get(service, "read_only").as_bool(), Some(true), "{role}");
        assert_eq!(texts(get(service, "cap_drop")), ["ALL"]);
        assert_eq!(
            texts(get(service, "security_opt")),
            ["no-new-privileges:true"]
        );
        assert!(service.as_mapping_get("privileged").is_none());
        let build = get(service, "build");
        let dockerfile = get(build, "dockerfile").as_str().unwrap();
        let context = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging");
        let context = context.join(get(build, "context").as_str().unwrap());
        assert!(context.join(dockerfile).is_file(), "{dockerfile}");
        for volume in texts(get(service, "volumes")) {
            let (name, place) = volume.split_once(':').unwrap();
            assert!(named.as_mapping_get(name).is_some(), "{volume}");
            assert_eq!(place, "/var/lib/monitor");
        }
    }
}

/// Runs the program as a probe does, where no process runs; a command that it does not know is refused with 2.
#[track_caller]
fn probe_finds_nobody(arguments: &[&str]) {
    let folder = support::stack::Folder::new();
    let probe = Command::new(env!("CARGO_BIN_EXE_monitor"))
        .args(arguments)
        .env_clear()
        .env("MONITOR_DATA_DIR", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&probe.stderr);
    assert_eq!(probe.status.code(), Some(1), "{said}");
    assert!(said.contains("no running monitor found"), "{said}");
}

#[test]
fn the_image_and_the_services_of_the_fleet_are_probed_without_a_shell() {
    let probes = instructions("HEALTHCHECK");
    let (_, command) = probes[0].split_once("CMD ").unwrap();
    let words: Vec<String> = serde_json::from_str(command).unwrap();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words[0], "/usr/bin/monitor");
    probe_finds_nobody(&words[1..]);
    let text = fleet();
    let documents = Yaml::load_from_str(&text).unwrap();
    let services = get(&documents[0], "services");
    for role in ["analysis", "gateway"] {
        let probe = get(get(services, role), "healthcheck");
        let words = texts(get(probe, "test"));
        assert_eq!(words[..2], ["CMD", "/usr/bin/monitor"]);
        probe_finds_nobody(&words[2..]);
    }
}

//! The files of a release, made of the program under test: what `packaging/release.sh` puts together. That a
//! cross-built program runs is for the script itself and for `packaging/try-deb.sh` to show (docs/development.md).

use super::{read, run};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use zip::ZipArchive;

const URL: &str = "https://downloads.example/monitor";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The names of the client packages of a version.
fn wheel(version: &str) -> String {
    format!("monitor_gateway_client-{version}-py3-none-any.whl")
}

fn npm(version: &str) -> String {
    format!("monitor-gateway-client-{version}.tgz")
}

struct Release {
    folder: PathBuf,
    /// Debian's name of the architecture.
    architecture: String,
}

impl Release {
    fn made() -> &'static Self {
        static MADE: OnceLock<Release> = OnceLock::new();
        MADE.get_or_init(|| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release");
            let _ = std::fs::remove_dir_all(&folder);
            Self::make(&folder);
            let architecture = run(Command::new("dpkg").arg("--print-architecture"));
            let architecture = architecture.trim().to_owned();
            Self {
                folder,
                architecture,
            }
        })
    }

    fn make(folder: &Path) {
        let mut command = Self::script(folder);
        command.envs([("DEB_COMPRESSION", "none"), ("TAR_COMPRESSION", "1")]);
        command.env("PATH", support::contract_path());
        run(&mut command);
    }

    fn script(folder: &Path) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/release.sh");
        let mut command = Command::new(script);
        command.args(["--url", URL, "--folder"]).arg(folder);
        command.arg(env!("CARGO_BIN_EXE_monitor"));
        command
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The name of the archive, without its ending.
    fn name(&self) -> String {
        format!("monitor-gateway-{VERSION}-linux-{}", self.architecture)
    }

    fn archive(&self) -> PathBuf {
        self.path(&format!("{}.tar.gz", self.name()))
    }

    /// The archive unpacked, as a user does it, in a folder of the test's own.
    fn unpacked(&self, test: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("release-{test}"));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let mut tar = Command::new("tar");
        run(tar.arg("-xzf").arg(self.archive()).current_dir(&folder));
        folder.join(self.name())
    }

    fn sum(&self, file: &Path) -> String {
        let printed = run(Command::new("sha256sum").arg(file));
        printed.split_whitespace().next().unwrap().to_owned()
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy, strip and the tools of the client packages"]
fn the_checksums_of_a_release_name_every_file_of_it() {
    let release = Release::made();
    let mut check = Command::new("sha256sum");
    let checked = run(check
        .args(["--check", "SHA256SUMS"])
        .current_dir(&release.folder));
    for entry in std::fs::read_dir(&release.folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "SHA256SUMS" {
            assert!(checked.contains(&format!("{name}: OK\n")), "{name}");
        }
    }
    let architecture = &release.architecture;
    for name in [
        format!("monitor-gateway_{VERSION}_{architecture}.deb"),
        format!("{}.tar.gz", release.name()),
        format!("{}.cdx.json", release.name()),
        "monitor.rb".to_owned(),
        wheel(VERSION),
        npm(VERSION),
    ] {
        assert!(checked.contains(&format!("{name}: OK\n")), "{name}");
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy, strip and the tools of the client packages"]
fn the_archive_runs_where_it_is_unpacked() {
    let release = Release::made();
    let root = release.unpacked("runs");
    let program = root.join("bin/monitor");
    let version = run(Command::new(&program).arg("--version"));
    assert_eq!(version.trim(), format!("monitor {VERSION}"));
    for role in ["all", "gateway", "analysis"] {
        let mut check = Command::new(&program);
        check.args(["check", "--role", role, "--config"]);
        check.arg(root.join(format!("conf/{role}.yaml")));
        check.env_clear().env("UPSTREAM_URL", "http://127.0.0.1:9");
        let said = run(check.env("MONITOR_DATA_DIR", root.join("data")));
        assert!(said.contains(": ok"), "{said}");
    }
    for path in [
        "LICENSE",
        "NOTICE",
        "README.md",
        "docs/install.md",
        "conf/grafana/monitor.json",
        "systemd/monitor.service",
        "systemd/monitor-gateway.service",
        "systemd/monitor-analysis.service",
        "share/man/man1/monitor.1.gz",
        "share/bash-completion/completions/monitor",
        "share/zsh/vendor-completions/_monitor",
        "share/fish/vendor_completions.d/monitor.fish",
    ] {
        assert!(root.join(path).is_file(), "{path}");
    }
    std::fs::remove_dir_all(root.parent().unwrap()).unwrap();
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy, strip and the tools of the client packages"]
fn the_same_program_makes_the_same_archives_packages_and_formula() {
    let release = Release::made();
    let again = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release-again");
    // A release takes the place of one that is there.
    std::fs::create_dir_all(&again).unwrap();
    let of_before = [
        "monitor-gateway-0.1.0-linux-amd64.tar.gz".to_owned(),
        wheel("0.1.0"),
        npm("0.1.0"),
    ];
    for name in &of_before {
        std::fs::write(again.join(name), "").unwrap();
    }
    std::fs::write(again.join("notes.txt"), "kept").unwrap();
    Release::make(&again);
    let sums = |folder: &Path| std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(sums(&again), sums(&release.folder));
    for name in of_before {
        assert!(!again.join(&name).exists(), "{name}");
    }
    assert!(again.join("notes.txt").exists());
    std::fs::remove_dir_all(again).unwrap();
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy, strip and the tools of the client packages"]
fn the_formula_names_the_archive_its_checksum_and_files_that_are_in_it() {
    let release = Release::made();
    let formula = std::fs::read_to_string(release.path("monitor.rb")).unwrap();
    assert!(!formula.contains('@'), "a placeholder is left: {formula}");
    let section = match release.architecture.as_str() {
        "amd64" => "on_intel do",
        _ => "on_arm do",
    };
    let sum = release.sum(&release.archive());
    let expected = format!(
        "  {section}\n    url \"{URL}/{}.tar.gz\"\n    sha256 \"{sum}\"\n  end\n",
        release.name()
    );
    assert!(formula.contains(&expected), "{formula}");
    assert!(formula.contains(&format!("version \"{VERSION}\"\n")));
    // What it installs is in the archive.
    let root = release.unpacked("formula");
    let paths = regex::Regex::new(r#"install (?:Dir\[)?"([^"]+)""#).unwrap();
    let mut count = 0;
    for found in paths.captures_iter(&formula) {
        let path = found[1].trim_end_matches("/*");
        assert!(root.join(path).exists(), "{path} is not in the archive");
        count += 1;
    }
    assert!(count > 5, "{count} paths");
    std::fs::remove_dir_all(root.parent().unwrap()).unwrap();
}

/// The `sh` blocks below a heading of a page.
fn blocks(page: &str, heading: &str) -> String {
    let text = read(page);
    let (_, section) = text
        .split_once(&format!("\n## {heading}\n"))
        .expect(heading);
    let section = section.split("\n## ").next().unwrap();
    let parts = section.split("```sh\n").skip(1);
    let blocks: Vec<&str> = parts
        .map(|part| part.split_once("```").unwrap().0)
        .collect();
    blocks.concat()
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy, strip and the tools of the client packages"]
fn the_page_checks_and_unpacks_the_archive_as_it_is() {
    let release = Release::made();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release-page");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    for file in [release.archive(), release.path("SHA256SUMS")] {
        std::fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    // The page is written for one architecture.
    let adapt = |text: String| text.replace("amd64", &release.architecture);
    let check = adapt(blocks("docs/install.md", "Check what you downloaded"));
    let check = check.lines().filter(|line| !line.starts_with("gpg "));
    let unpack = adapt(blocks("docs/install.md", "Archive, without installing"));
    // The last line starts the program: everything but that runs.
    let unpack = unpack.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(unpack.1, "bin/monitor all");
    let typed = format!("{}\n{}\n", check.collect::<Vec<_>>().join("\n"), unpack.0);
    let printed = run(Command::new("sh")
        .args(["-euc", &typed])
        .current_dir(&folder));
    assert!(
        printed.contains(&format!("{}.tar.gz: OK", release.name())),
        "{printed}"
    );
    assert!(printed.contains(&format!("monitor {VERSION}")), "{printed}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy, strip and the tools of the client packages"]
fn the_client_packages_are_those_of_the_page_and_have_every_operation_of_the_program() {
    let release = Release::made();
    let page = blocks("docs/install.md", "Client packages");
    for name in [wheel(VERSION), npm(VERSION)] {
        assert!(
            page.contains(&format!("install ./{name}\n")),
            "{name}: {page}"
        );
    }
    let python = File::open(release.path(&wheel(VERSION))).unwrap();
    let mut python = ZipArchive::new(python).unwrap();
    let python = python.by_name("monitor_gateway_client/operations.py");
    let python = std::io::read_to_string(python.unwrap()).unwrap();
    let mut unpack = Command::new("tar");
    unpack.arg("-xzOf").arg(release.path(&npm(VERSION)));
    let node = run(unpack.arg("package/operations.js"));
    let mut openapi = Command::new(env!("CARGO_BIN_EXE_monitor"));
    let document = run(openapi.args(["openapi", "--analysis"]));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let paths = document["paths"].as_object().unwrap();
    for path in paths.keys().filter(|path| *path != "/") {
        assert!(python.contains(path) && node.contains(path), "{path}");
    }
}

#[test]
fn a_release_without_the_tools_of_the_client_packages_ends_before_it_builds_anything() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release-without-tools");
    let mut command = Release::script(&folder);
    let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("missing: ") && said.contains("tests/run.sh"),
        "{said}"
    );
    assert!(said.contains("datamodel-codegen"), "{said}");
    assert!(!folder.exists());
}

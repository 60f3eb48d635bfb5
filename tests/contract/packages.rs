//! The Python and the npm package of `packaging/clients`: built, installed, and at work on the real binary. The scripts
//! `python_package.py` and `npm_package.ts` hold the assertions.

use crate::tools::{NodeFolder, beside, root, succeed, tool};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use support::KEY;
use support::fault::refusing_address;
use support::stack::{Folder, Stack};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join("packaging/clients").join(path)).unwrap()
}

/// The packages as they are shipped.
struct Packages {
    folder: Arc<Folder>,
    wheel: PathBuf,
    archive: PathBuf,
}

impl Packages {
    #[track_caller]
    fn built() -> Self {
        let folder = Folder::new();
        let mut build = tool("bash");
        build.arg(root().join("packaging/clients/build.sh"));
        let printed = succeed(build.arg(support::monitor()).arg(folder.path()));
        let path = |end: &str| {
            let mut lines = printed.lines();
            let line = lines.find(|line| line.ends_with(end));
            PathBuf::from(line.unwrap_or_else(|| panic!("no {end}: {printed}")))
        };
        let (wheel, archive) = (path(".whl"), path(".tgz"));
        Self {
            folder,
            wheel,
            archive,
        }
    }
}

/// A server, one that takes two requests a second, and what both scripts ask of them.
struct World {
    stack: Stack,
    busy: Stack,
}

impl World {
    fn start() -> Self {
        Self {
            stack: Stack::all().start(),
            busy: Stack::all()
                .yaml("  limits: {requests_per_second: 2}")
                .start(),
        }
    }

    fn arguments(&self) -> [String; 5] {
        let url = |address| format!("http://{address}");
        [
            url(self.stack.analysis_addr),
            url(self.busy.analysis_addr),
            url(refusing_address()),
            KEY.to_owned(),
            self.stack.application_id(),
        ]
    }
}

/// The document of the analysis API, in a file.
#[track_caller]
fn document(folder: &Path) -> PathBuf {
    let text = succeed(Command::new(support::monitor()).args(["openapi", "--analysis"]));
    let path = folder.join("openapi.json");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_packages_have_version_and_license_of_the_product() {
    let version = env!("CARGO_PKG_VERSION");
    let python = read("python/pyproject.toml");
    assert!(python.contains(&format!("\nversion = \"{version}\"\n")));
    assert!(
        python.contains("\nlicense = \"Apache-2.0\"\nlicense-files = [\"LICENSE\", \"NOTICE\"]\n")
    );
    let npm: Value = serde_json::from_str(&read("npm/package.json")).unwrap();
    assert_eq!(npm["version"], version);
    assert_eq!(npm["license"], "Apache-2.0");
    assert!(read("NOTICE").contains("Apache License, Version 2.0 (LICENSE)"));
}

#[test]
#[ignore = "needs Python, Node.js and packages of both"]
fn the_python_package_works_on_the_real_server() {
    let packages = Packages::built();
    let site = packages.folder.path().join("site");
    let mut install = tool("python");
    install.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
    ]);
    succeed(install.arg(&site).arg(&packages.wheel));
    document(&site);
    let licenses = site.join(format!(
        "monitor_gateway_client-{}.dist-info/licenses",
        env!("CARGO_PKG_VERSION")
    ));
    assert!(licenses.join("LICENSE").is_file() && licenses.join("NOTICE").is_file());
    let world = World::start();
    let mut script = tool("python");
    script.arg(beside("python_package.py")).arg(&site);
    println!("{}", succeed(script.args(world.arguments())));
}

#[test]
#[ignore = "needs Python, Node.js and packages of both"]
fn the_npm_package_works_on_the_real_server() {
    let (packages, node) = (Packages::built(), NodeFolder::new());
    let package = node.0.join("node_modules/monitor-gateway-client");
    std::fs::create_dir_all(&package).unwrap();
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(&packages.archive);
    succeed(unpack.args(["--strip-components", "1", "-C"]).arg(&package));
    assert!(package.join("LICENSE").is_file() && package.join("NOTICE").is_file());
    let world = World::start();
    let mut script = node.compiled("npm_package.ts");
    script.args(world.arguments()).arg(document(&node.0));
    println!("{}", succeed(&mut script));
}

//! The package as a file: built once of the program under test, and taken apart again.

use super::run;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Builds the package of the program under test in a new folder.
fn package(folder: &Path, environment: &[(&str, &str)]) -> PathBuf {
    let _ = std::fs::remove_dir_all(folder);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/deb.sh");
    let mut command = Command::new(script);
    command.arg(env!("CARGO_BIN_EXE_monitor")).arg(folder);
    command.env("DEB_COMPRESSION", "none");
    command.envs(environment.iter().copied());
    PathBuf::from(run(&mut command).trim())
}

/// One field of a package's description; empty if it has none.
fn field(package: &Path, name: &str) -> String {
    let asked = run(Command::new("dpkg-deb").arg("-f").arg(package).arg(name));
    asked.trim().to_owned()
}

/// A built package and what is in it.
pub(crate) struct Deb {
    file: PathBuf,
    root: PathBuf,
}

impl Deb {
    /// The package of the program under test, built once.
    pub(crate) fn built() -> &'static Self {
        static BUILT: OnceLock<Deb> = OnceLock::new();
        BUILT.get_or_init(Self::build)
    }

    fn build() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deb");
        let file = package(&folder, &[]);
        let root = folder.join("installed");
        run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&root));
        Self { file, root }
    }

    /// A path below the root of a system that has it.
    pub(crate) fn installed(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.installed(path)).expect(path)
    }

    /// A compressed text.
    pub(crate) fn unpacked(&self, path: &str) -> String {
        run(Command::new("gzip").arg("-dc").arg(self.installed(path)))
    }

    /// Its files and folders with mode and owner, one a line, as `tar -tv` has them.
    pub(crate) fn listing(&self) -> String {
        run(Command::new("dpkg-deb").arg("--contents").arg(&self.file))
    }

    /// One field of its description.
    pub(crate) fn field(&self, name: &str) -> String {
        field(&self.file, name)
    }

    /// One of the files for the package manager.
    pub(crate) fn control(&self, name: &str) -> String {
        run(Command::new("dpkg-deb").arg("-I").arg(&self.file).arg(name))
    }

    /// The packaged program.
    pub(crate) fn program(&self) -> Command {
        let mut command = Command::new(self.installed("usr/bin/monitor"));
        command.env_clear();
        command
    }
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn the_same_program_makes_the_same_package() {
    // Another folder, time zone and language, at another time.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deb-again");
    let elsewhere = [("TZ", "Asia/Tokyo"), ("LC_ALL", "C.UTF-8")];
    let again = std::fs::read(package(&folder, &elsewhere)).unwrap();
    let first = std::fs::read(&Deb::built().file).unwrap();
    assert!(first == again, "{} and {} bytes", first.len(), again.len());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn the_packaged_program_names_its_crates_where_scanners_look() {
    let deb = Deb::built();
    let section = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dep-v0");
    let dump = format!(".dep-v0={}", section.display());
    let program = deb.installed("usr/bin/monitor");
    run(Command::new("objcopy")
        .args(["--dump-section", &dump])
        .arg(program)
        .arg(section.with_extension("program")));
    let mut text = String::new();
    let packed = std::fs::File::open(&section).unwrap();
    let mut unpacked = flate2::read::ZlibDecoder::new(packed);
    std::io::Read::read_to_string(&mut unpacked, &mut text).unwrap();
    let crates: serde_json::Value = serde_json::from_str(&text).unwrap();
    let packages = crates["packages"].as_array().unwrap();
    let root = packages.iter().find(|package| package["root"] == true);
    let root = root.unwrap();
    assert_eq!(root["name"], "monitor-gateway");
    assert_eq!(root["version"], env!("CARGO_PKG_VERSION"));
    assert!(packages.len() > 100, "{} crates", packages.len());
    let known =
        |place: &serde_json::Value| packages.get(place.as_u64().unwrap() as usize).is_some();
    assert!(root["dependencies"].as_array().unwrap().iter().all(known));
}

#[test]
#[ignore = "needs dpkg-deb, readelf, objcopy and strip"]
fn a_package_names_its_maintainer_and_its_homepage_where_the_builder_does() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("deb-named");
    let maintainer = "Operators <operators@example.org>";
    let homepage = "https://example.org/monitor?a&b";
    let named = [("DEB_MAINTAINER", maintainer), ("DEB_HOMEPAGE", homepage)];
    let file = package(&folder, &named);
    assert_eq!(field(&file, "Maintainer"), maintainer);
    assert_eq!(field(&file, "Homepage"), homepage);
    let description = field(&file, "Description");
    assert_eq!(description, Deb::built().field("Description"));
    let contents = folder.join("contents");
    run(Command::new("dpkg-deb").arg("-x").arg(&file).arg(&contents));
    let changelog = contents.join("usr/share/doc/monitor-gateway/changelog.gz");
    let changelog = run(Command::new("gzip").arg("-dc").arg(changelog));
    assert!(
        changelog.contains(&format!(" -- {maintainer}  ")),
        "{changelog}"
    );
    assert_eq!(Deb::built().field("Homepage"), "");
    std::fs::remove_dir_all(folder).unwrap();
}

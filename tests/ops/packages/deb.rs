//! The package as a file: built once of the program under test, and taken apart again.

use super::run;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

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
        let _ = std::fs::remove_dir_all(&folder);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/deb.sh");
        let mut command = Command::new(script);
        command.arg(env!("CARGO_BIN_EXE_monitor")).arg(&folder);
        command.env("DEB_COMPRESSION", "none");
        let file = PathBuf::from(run(&mut command).trim());
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
        let asked = run(Command::new("dpkg-deb").arg("-f").arg(&self.file).arg(name));
        asked.trim().to_owned()
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

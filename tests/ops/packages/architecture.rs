//! For which machines a package is: the program's own header says so, and what contradicts it is refused.

use super::run;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::stack::Folder;

/// Values of `e_machine` in the header of an ELF file.
const X86_64: u8 = 62;
const AARCH64: u8 = 183;
const RISC_V: u8 = 243;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("packaging")
        .join(name)
}

/// The program under test, whose header names this machine.
fn program_for(folder: &Folder, machine: u8) -> PathBuf {
    let path = folder.path().join("monitor");
    std::fs::copy(env!("CARGO_BIN_EXE_monitor"), &path).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[machine, 0], 18).unwrap();
    path
}

/// What `architecture` of packaging/program.sh prints.
fn architecture(program: &Path) -> Output {
    let mut shell = Command::new("bash");
    shell.args(["-euc", ". \"$0\"; architecture \"$1\""]);
    shell.arg(script("program.sh")).arg(program);
    shell.output().unwrap()
}

/// Runs deb.sh, which must refuse; what it says.
#[track_caller]
fn refused(arguments: &[&str], program: &Path) -> String {
    let folder = Folder::new();
    let target = folder.path().join("packages");
    let mut command = Command::new(script("deb.sh"));
    let output = command.args(arguments).arg(program).arg(&target).output();
    let output = output.unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(!target.exists(), "it leaves nothing behind when it refuses");
    String::from_utf8(output.stderr).unwrap()
}

/// Debian's name of this machine's architecture.
fn own() -> String {
    run(Command::new("dpkg").arg("--print-architecture"))
        .trim()
        .to_owned()
}

#[test]
#[ignore = "needs readelf"]
fn the_architecture_of_a_program_is_what_its_header_says() {
    for (machine, expected) in [(X86_64, "amd64\n"), (AARCH64, "arm64\n")] {
        let folder = Folder::new();
        let output = architecture(&program_for(&folder, machine));
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    }
    let folder = Folder::new();
    let output = architecture(&program_for(&folder, RISC_V));
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("RISC-V"), "{said}");
    assert!(said.contains("amd64 and arm64"), "{said}");
}

#[test]
#[ignore = "needs dpkg-deb and readelf"]
fn a_package_for_another_machine_than_the_program_is_refused() {
    let (own, other) = match own().as_str() {
        "arm64" => ("arm64", "amd64"),
        _ => ("amd64", "arm64"),
    };
    let program = Path::new(env!("CARGO_BIN_EXE_monitor"));
    let said = refused(&["--architecture", other], program);
    assert!(
        said.contains(&format!("is for {own}, not for {other}")),
        "{said}"
    );
    let said = refused(&["--architecture", "mips"], program);
    assert!(said.contains("mips"), "{said}");
    assert!(said.contains("amd64 or arm64"), "{said}");
}

#[test]
#[ignore = "needs dpkg-deb and readelf"]
fn a_file_that_is_no_program_is_refused() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let said = refused(&[], &readme);
    assert!(said.contains("README.md is no Linux program"), "{said}");
}

#[test]
#[ignore = "needs dpkg-deb and readelf"]
fn a_program_of_another_version_is_refused() {
    // A program that prints no version of ours.
    let said = refused(&[], Path::new("/bin/true"));
    let expected = format!("is not monitor {}", env!("CARGO_PKG_VERSION"));
    assert!(said.contains(&expected), "{said}");
}

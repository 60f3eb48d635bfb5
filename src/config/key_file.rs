//! Files with a key of 32 bytes: who may read them, and what they hold. No error shows a byte of a key.

use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use rustix::fs::OFlags;
use rustix::process::geteuid;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// The longest file that can hold one: its digits and the end of a line.
const LONGEST: usize = 2 * KEY_BYTES + 2;
/// What is allowed, for the end of every error.
const ALLOWED: &str = "allowed: a file of root or of the service's user with 64 hexadecimal digits or 32 random \
                       bytes, for its owner only, as `monitor spool key FILE` makes one";
/// Fewer different bytes are no random key: 32 random ones have 30.
const FEWEST_BYTES: usize = 16;

/// A key of 32 bytes. It is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct FileKey(Zeroizing<[u8; KEY_BYTES]>);

/// Names a key, and tells nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyId(pub(crate) [u8; 8]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// The length of an id, for the function that derives it.
struct IdLength;

impl KeyType for IdLength {
    fn len(&self) -> usize {
        8
    }
}

impl FileKey {
    /// The key itself, for the one place that derives others from it.
    pub fn expose(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// The name of the key.
    pub fn id(&self) -> KeyId {
        let mut id = [0; 8];
        let extracted = Salt::new(HKDF_SHA256, &[]).extract(self.expose());
        let expanded = extracted.expand(&[b"monitor spool key id"], IdLength);
        // It fails for lengths that no id has.
        let _ = expanded.and_then(|expanded| expanded.fill(&mut id));
        KeyId(id)
    }

    #[cfg(test)]
    pub(crate) fn of(byte: u8) -> Self {
        Self(Zeroizing::new([byte; KEY_BYTES]))
    }
}

impl fmt::Debug for FileKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// Whose files are trusted with a key, besides those of root.
#[derive(Clone, Copy, Debug)]
pub struct Owners {
    /// The user of this process.
    own: u32,
    /// The user whose service a command of root is for.
    service: Service,
}

#[derive(Clone, Copy, Debug)]
enum Service {
    /// The process that asks: it runs as its own user.
    Itself,
    User(u32),
    /// It has not been started yet.
    Unknown,
}

impl Owners {
    /// Those for a process that uses the key.
    pub fn of_process() -> Self {
        Self {
            own: geteuid().as_raw(),
            service: Service::Itself,
        }
    }

    /// Those for a command: root may look at the files of the service, whose user owns its folder.
    pub fn of_folder(folder: &Path) -> Self {
        let owner = std::fs::metadata(folder).map(|about| about.uid());
        Self {
            service: owner.map_or(Service::Unknown, Service::User),
            ..Self::of_process()
        }
    }

    fn include(self, owner: u32) -> bool {
        let is_service = match self.service {
            Service::Itself => false,
            Service::User(user) => owner == user,
            Service::Unknown => true,
        };
        owner == 0 || owner == self.own || self.own == 0 && is_service
    }
}

/// Reads the key of a file.
///
/// # Errors
/// When the file cannot be read, is not of one of these owners, others may read it, or it holds no key.
pub fn read(path: &Path, owners: Owners) -> Result<FileKey, String> {
    let unusable = |wrong: String| format!("{}: {wrong}; {ALLOWED}", path.display());
    let file = open(path).map_err(unusable)?;
    let about = file.metadata();
    let about = about.map_err(|error| unusable(error.to_string()))?;
    owned(&about, owners).map_err(unusable)?;
    key_in(file).map_err(unusable)
}

/// The id of the key in a file, whoever owns it; None if it cannot be read.
pub(crate) fn id_in(path: &Path) -> Option<KeyId> {
    let key = open(path).and_then(key_in).ok()?;
    Some(key.id())
}

fn key_in(file: File) -> Result<FileKey, String> {
    let mut content = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    let limited = file.take(LONGEST as u64 + 1).read_to_end(&mut content);
    limited.map_err(|error| error.to_string())?;
    let key = match <[u8; KEY_BYTES]>::try_from(content.as_slice()) {
        Ok(bytes) => raw(bytes)?,
        Err(_) => parse(&content).ok_or("it holds no key")?,
    };
    match key.0.iter().all(|byte| *byte == key.0[0]) {
        true => Err("its key is not random".to_owned()),
        false => Ok(key),
    }
}

/// A key as it is: words would be a weak one, and half the digits of a key another one.
fn raw(bytes: [u8; KEY_BYTES]) -> Result<FileKey, String> {
    let different = bytes.iter().collect::<BTreeSet<_>>().len();
    match std::str::from_utf8(&bytes).is_ok() || different < FEWEST_BYTES {
        true => Err(
            "its 32 bytes are not random (to read what was encrypted with them, write them as hexadecimal digits)"
                .to_owned(),
        ),
        false => Ok(FileKey(Zeroizing::new(bytes))),
    }
}

/// Makes a random key in a new file that its owner alone may read.
///
/// # Errors
/// When the file exists or cannot be written.
pub fn create(path: &Path) -> Result<FileKey, String> {
    let unusable = |wrong: &dyn fmt::Display| format!("{}: {wrong}", path.display());
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    getrandom::fill(&mut *key).map_err(|error| error.to_string())?;
    let mut digits = Zeroizing::new(String::with_capacity(LONGEST));
    for byte in key.iter() {
        let _ = write!(digits, "{byte:02x}");
    }
    digits.push('\n');
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(path);
    let mut file = opened.map_err(|error| unusable(&error))?;
    let written = file
        .write_all(digits.as_bytes())
        .and_then(|()| file.sync_all());
    written.map_err(|error| unusable(&error))?;
    Ok(FileKey(key))
}

fn open(path: &Path) -> Result<File, String> {
    let refused = |error: std::io::Error| format!("cannot be read: {error}");
    let is_file = |about: Metadata| match about.is_file() {
        true => Ok(()),
        false => Err("it is not a file".to_owned()),
    };
    // Looked at first, as a device may act when it is opened, and again, as it may be another by then.
    is_file(std::fs::metadata(path).map_err(refused)?)?;
    let mut options = OpenOptions::new();
    // Opening a pipe does not wait.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = options.read(true).custom_flags(flags).open(path);
    let file = opened.map_err(refused)?;
    is_file(file.metadata().map_err(refused)?)?;
    Ok(file)
}

/// Whether the file is of one of these owners, and nobody else may read it. Files of root may be for a group, as those
/// are that a service manager hands out.
fn owned(about: &Metadata, owners: Owners) -> Result<(), String> {
    let (owner, rights) = (about.uid(), about.mode() & 0o777);
    if !owners.include(owner) {
        return Err(format!("it belongs to another user ({owner})"));
    }
    let others = match owner {
        0 => 0o037,
        _ => 0o077,
    };
    match rights & others {
        0 => Ok(()),
        _ => Err(format!(
            "others may read or change it (rights {rights:o}; `chmod 600` it)"
        )),
    }
}

fn parse(content: &[u8]) -> Option<FileKey> {
    let digits = content.strip_suffix(b"\n").unwrap_or(content);
    let digits = digits.strip_suffix(b"\r").unwrap_or(digits);
    let digits: &[u8; 2 * KEY_BYTES] = digits.try_into().ok()?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(FileKey(key))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use support::stack::Folder;

    #[test]
    fn a_key_that_is_made_is_read_again_and_only_its_owner_may() {
        let folder = Folder::new();
        let path = folder.path().join("key");
        let made = create(&path).unwrap();
        let read = |path: &Path| read(path, Owners::of_process());
        assert!(read(&path).unwrap() == made);
        let rights = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(rights & 0o777, 0o600);
        assert!(create(&path).unwrap_err().contains("exists"));
        assert!(read(&path).unwrap() == made, "a key is never written over");
    }

    #[test]
    fn what_is_no_key_or_not_for_its_owner_alone_is_refused_and_never_shown() {
        let folder = Folder::new();
        let path = folder.path().join("key");
        let digits = "0123456789abcdef".repeat(4);
        let refused = |content: &[u8], mode: u32| {
            let _ = std::fs::remove_file(&path);
            std::fs::write(&path, content).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            read(&path, Owners::of_process()).err()
        };
        let crlf = format!("{digits}\r\n");
        let random: Vec<u8> = (0..=255).step_by(8).collect();
        for good in [digits.as_bytes(), crlf.as_bytes(), &random] {
            assert_eq!(refused(good, 0o600), None);
            assert_eq!(refused(good, 0o400), None);
        }
        let bad = [
            (digits[1..].to_owned(), 0o600, "holds no key"),
            (digits.clone() + "0", 0o600, "holds no key"),
            (digits.clone() + "\n\n", 0o600, "holds no key"),
            (digits.replace('c', "g"), 0o600, "holds no key"),
            (String::new(), 0o600, "holds no key"),
            ("0".repeat(64), 0o600, "not random"),
            (digits[..32].to_owned(), 0o600, "not random"),
            (
                "the password of our whole group\n".to_owned(),
                0o600,
                "not random",
            ),
            ("пароль нашей гр.".to_owned() + "123", 0o600, "not random"),
            (digits.clone(), 0o604, "rights 604"),
            (digits.clone(), 0o660, "rights 660"),
        ];
        for (content, mode, wrong) in bad {
            let text = refused(content.as_bytes(), mode).unwrap();
            assert!(text.contains(wrong) && text.contains("spool key"), "{text}");
            assert!(!text.contains("234567"), "{text}");
        }
        assert!(refused(&[&random[..15], &[0; 17]].concat(), 0o600).is_some());
        let read = |path: &Path| read(path, Owners::of_process());
        let other = folder.path().join("device");
        symlink("/dev/zero", &other).unwrap();
        assert!(read(&other).unwrap_err().contains("not a file"));
        assert!(read(folder.path()).unwrap_err().contains("not a file"));
        let missing = read(&folder.path().join("missing")).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
    }

    #[test]
    fn a_key_file_of_another_user_is_refused_by_root_too() {
        let owners = |own, service| Owners { own, service };
        for own in [0, 7] {
            let process = owners(own, Service::Itself);
            assert!(process.include(0) && process.include(own));
            assert!(!process.include(8), "of a process of {own}");
        }
        // A command of root looks at the files of the service, and of nobody else.
        let command = owners(0, Service::User(8));
        assert!(command.include(8) && command.include(0) && !command.include(9));
        assert!(owners(0, Service::Unknown).include(9));
        assert!(!owners(7, Service::User(8)).include(8));
        assert!(!owners(7, Service::Unknown).include(8));
    }
}

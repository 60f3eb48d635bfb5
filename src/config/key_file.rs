//! Files with a key of 32 bytes: who may read them, and what they hold. No error shows a byte of a key.

use rustix::process::geteuid;
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
const ALLOWED: &str = "allowed: a file with 64 hexadecimal digits or 32 bytes, for its owner only, as `monitor \
                       spool key FILE` makes one";

/// A key of 32 bytes. It is wiped from memory when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct FileKey(Zeroizing<[u8; KEY_BYTES]>);

impl FileKey {
    /// The key itself, for the one place that derives others from it.
    pub fn expose(&self) -> &[u8; KEY_BYTES] {
        &self.0
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

/// Reads the key of a file.
///
/// # Errors
/// When the file cannot be read, others may read it, or it holds no key.
pub fn read(path: &Path) -> Result<FileKey, String> {
    let unusable = |wrong: String| format!("{}: {wrong}; {ALLOWED}", path.display());
    let file = open(path).map_err(unusable)?;
    let mut content = Zeroizing::new(Vec::with_capacity(LONGEST + 1));
    let limited = file.take(LONGEST as u64 + 1).read_to_end(&mut content);
    limited.map_err(|error| unusable(error.to_string()))?;
    let key = parse(&content).ok_or_else(|| unusable("it holds no key".to_owned()))?;
    match key.0.iter().all(|byte| *byte == key.0[0]) {
        true => Err(unusable("its key is not random".to_owned())),
        false => Ok(key),
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
    // Looked at first: opening a pipe waits, and a device has no end.
    if !std::fs::metadata(path).map_err(refused)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let file = File::open(path).map_err(refused)?;
    owned(&file.metadata().map_err(refused)?)?;
    Ok(file)
}

/// Whether the file is this user's or root's, and nobody else may read it. Files of root may be for a group, as
/// those are that a service manager hands out.
fn owned(about: &Metadata) -> Result<(), String> {
    let (own, owner, rights) = (geteuid().as_raw(), about.uid(), about.mode() & 0o777);
    if own != 0 && owner != own && owner != 0 {
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
    if let Ok(key) = content.try_into() {
        return Some(FileKey(Zeroizing::new(key)));
    }
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
            read(&path).err()
        };
        let crlf = format!("{digits}\r\n");
        for good in [digits.as_bytes(), crlf.as_bytes(), &digits.as_bytes()[..32]] {
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
            (digits.clone(), 0o604, "rights 604"),
            (digits.clone(), 0o660, "rights 660"),
        ];
        for (content, mode, wrong) in bad {
            let text = refused(content.as_bytes(), mode).unwrap();
            assert!(text.contains(wrong) && text.contains("spool key"), "{text}");
            assert!(!text.contains("234567"), "{text}");
        }
        let other = folder.path().join("device");
        symlink("/dev/zero", &other).unwrap();
        assert!(read(&other).unwrap_err().contains("not a file"));
        assert!(read(folder.path()).unwrap_err().contains("not a file"));
        let missing = read(&folder.path().join("missing")).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
    }
}

//! Certificates, keys and authorities from PEM files, checked as they are read: every error names the file.

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use x509_parser::prelude::{FromDer, X509Certificate};
use zeroize::Zeroizing;

/// The largest file in bytes. Those of all authorities of a system together have a tenth of it.
pub(crate) const LARGEST: u64 = 4 << 20;

/// A certificate chain and its key.
///
/// # Errors
/// When a file cannot be read or contains something else, the certificate has expired or is not valid yet,
/// or the two do not match.
pub fn identity(cert: &Path, key: &Path) -> Result<CertifiedKey, String> {
    let chain = certificates(cert)?;
    let first = chain
        .first()
        .map(CertificateDer::as_ref)
        .unwrap_or_default();
    in_time(first).map_err(|wrong| format!("{}: {wrong}", cert.display()))?;
    let read = self::key(key)?;
    let signs = rustls::crypto::ring::sign::any_supported_type(&read);
    let signs = signs.map_err(|_| format!("{}: unsupported kind of key", key.display()))?;
    let identity = CertifiedKey::new(chain, signs);
    // Not possible for some kinds of key; a wrong pair of those fails in the first handshake.
    match identity.keys_match() {
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) | Ok(()) => {
            Ok(identity)
        }
        Err(_) => Err(format!(
            "{} and {} do not match",
            cert.display(),
            key.display()
        )),
    }
}

/// The key of [`identity`] as in the file, for callers that build their own configuration.
///
/// # Errors
/// When the file cannot be read or contains no private key.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let contents = contents(path)?;
    PrivateKeyDer::from_pem_slice(&contents).map_err(|error| {
        let path = path.display();
        match is_encrypted(&contents) {
            true => format!("{path}: the private key is encrypted; decrypt it: openssl pkey -in {path} -out FILE"),
            false => format!("{path}: contains no private key ({error})"),
        }
    })
}

fn is_encrypted(pem: &[u8]) -> bool {
    let marks: [&[u8]; 2] = [b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED"];
    let has = |mark: &[u8]| memchr::memmem::find(pem, mark).is_some();
    marks.into_iter().any(has)
}

fn contents(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    let mut bytes = Zeroizing::new(Vec::new());
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("{}: cannot be read: {error}", path.display())),
        Ok(read) if read as u64 > LARGEST => Err(format!(
            "{}: is larger than {LARGEST} bytes",
            path.display()
        )),
        Ok(_) => Ok(bytes),
    }
}

/// Every certificate of a file, at least one.
///
/// # Errors
/// When the file cannot be read or holds none, or one that cannot be read.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let wrong = |wrong: &dyn std::fmt::Display| format!("{}: {wrong}", path.display());
    let bytes = contents(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let read = read.map_err(|error| wrong(&error))?;
    if read.is_empty() {
        return Err(wrong(&"contains no certificate"));
    }
    match read
        .iter()
        .all(|one| X509Certificate::from_der(one).is_ok())
    {
        true => Ok(read),
        false => Err(wrong(&"contains an unreadable certificate")),
    }
}

/// The authorities of a file.
///
/// # Errors
/// When the file cannot be read, or a certificate of it is no authority.
pub fn authorities(path: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for one in certificates(path)? {
        let added = roots.add(one);
        added.map_err(|error| {
            format!(
                "{}: contains no certificate authority ({error})",
                path.display()
            )
        })?;
    }
    Ok(roots)
}

fn in_time(certificate: &[u8]) -> Result<(), String> {
    let read = X509Certificate::from_der(certificate);
    let Ok((_, read)) = read else {
        return Err("contains an unreadable certificate".to_owned());
    };
    let validity = read.validity();
    let now = x509_parser::time::ASN1Time::now();
    if now > validity.not_after {
        return Err(format!("the certificate expired on {}", validity.not_after));
    }
    if now < validity.not_before {
        return Err(format!(
            "the certificate is not valid before {}",
            validity.not_before
        ));
    }
    Ok(())
}

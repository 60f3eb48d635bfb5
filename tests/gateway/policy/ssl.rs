//! STORE_SSL: `true` accepts a certificate that is valid for the host, and nothing else.

use super::world::{Running, new_id, settings, sync};
use monitor_gateway::config::StoreSsl;
use monitor_gateway::policy::PostgresStore;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::path::PathBuf;
use support::postgres::{Database, Postgres};

/// A certificate authority and a server certificate of it, as PEM: authority, certificate, key.
fn certificate(host: &str) -> [String; 3] {
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_pem = authority.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec![host.to_owned()]).unwrap();
    let server = server.signed_by(&key, &issuer).unwrap();
    [authority_pem, server.pem(), key.serialize_pem()]
}

/// Policies over TLS as it is set, or what the store says.
fn read(database: &Database, ssl: StoreSsl, ca: Option<PathBuf>) -> Result<Running, String> {
    let mut settings = settings(database);
    (settings.ssl, settings.ca) = (ssl, ca);
    let running = Running::over(Box::new(PostgresStore::new(&settings)), None);
    match running.policies.status().store_error {
        None => Ok(running),
        Some(error) => Err(error),
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn tls_is_asked_for_and_checked_as_store_ssl_says() {
    let mut server = Postgres::start();
    let database = server.database();
    let id = new_id();
    database.add(&id, &sync("encrypted"));
    let read = |ssl, ca| read(&database, ssl, ca).map(|running| running.phrase(&id));
    let phrase = Ok(Some("encrypted".to_owned()));
    assert_eq!(read(StoreSsl::Auto, None), phrase, "a server without TLS");
    assert!(read(StoreSsl::On, None).is_err(), "a server without TLS");

    let [authority, certificate, key] = certificate("127.0.0.1");
    let [other, ..] = self::certificate("127.0.0.1");
    let authority = server.private_file("ca.pem", &authority);
    let other = server.private_file("other.pem", &other);
    let certificate = server.private_file("server.pem", &certificate);
    let key = server.private_file("server.key", &key);
    server.restart_with(&[
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", certificate.display()),
        format!("ssl_key_file={}", key.display()),
    ]);
    assert_eq!(read(StoreSsl::Off, None), phrase);
    assert_eq!(read(StoreSsl::Auto, None), phrase);
    assert_eq!(read(StoreSsl::On, Some(authority)), phrase);
    assert!(
        read(StoreSsl::On, Some(other)).is_err(),
        "another authority"
    );
    assert!(
        read(StoreSsl::On, None).is_err(),
        "the system's authorities"
    );
}

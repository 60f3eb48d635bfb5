//! A client without a browser: keeps cookies, follows nothing, sends forms with the token of the last
//! page it saw.

use crate::http::Response;
use crate::request::Request;
use crate::tls::Identity;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// One person's client.
pub struct Visitor {
    address: SocketAddr,
    /// Whom it trusts over TLS; None talks in clear text.
    server: Option<Identity>,
    /// What a proxy in front of the server adds.
    forwarded: Vec<(&'static str, &'static str)>,
    pub cookies: BTreeMap<String, String>,
    pub form_token: String,
}

impl Visitor {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            server: None,
            forwarded: Vec::new(),
            cookies: BTreeMap::new(),
            form_token: String::new(),
        }
    }

    /// One that talks to this server over TLS.
    pub fn over_tls(address: SocketAddr, server: Identity) -> Self {
        Self {
            server: Some(server),
            ..Self::new(address)
        }
    }

    /// One whose requests a proxy brings, with these headers.
    pub fn behind(address: SocketAddr, forwarded: &[(&'static str, &'static str)]) -> Self {
        Self {
            forwarded: forwarded.to_vec(),
            ..Self::new(address)
        }
    }

    /// Its cookies as one header.
    pub fn cookie(&self) -> String {
        let pairs = self.cookies.iter();
        let pairs: Vec<_> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("; ")
    }

    #[track_caller]
    pub fn get(&mut self, path: &str) -> Response {
        self.send(Request::get(path))
    }

    /// A form with the last page's token.
    #[track_caller]
    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        let token = self.form_token.clone();
        let mut all = vec![("form_token", token.as_str())];
        all.extend(fields);
        self.post_bare(path, &all)
    }

    /// A form with these fields only.
    #[track_caller]
    pub fn post_bare(&mut self, path: &str, fields: &[(&str, &str)]) -> Response {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        let request = Request::post(path, body.finish());
        self.send(request.content_type("application/x-www-form-urlencoded"))
    }

    #[track_caller]
    fn send(&mut self, request: Request) -> Response {
        let mut request = request.without_key();
        for (name, value) in &self.forwarded {
            request = request.header(name, value);
        }
        if !self.cookies.is_empty() {
            request = request.header("Cookie", &self.cookie());
        }
        let response = match &self.server {
            None => request.call(self.address),
            Some(server) => {
                let (mut connection, _) = server.connect(self.address, &["http/1.1"]);
                connection.send(&request.bytes());
                connection.response()
            }
        };
        for cookie in response.head.values("set-cookie") {
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap_or_default();
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        let token = regex::Regex::new(r#"name="form_token" value="([^"]*)""#).unwrap();
        if let Some(found) = token.captures(&response.text()) {
            self.form_token = found[1].to_owned();
        }
        response
    }
}

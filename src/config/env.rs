//! The table of environment variables: docs/configuration.md and `monitor --help` are printed from it, and
//! the reader finds a key's variable in it. Reads no environment itself (§8, CONTRACT 33).

mod mistyped;

pub use mistyped::mistyped;

use super::role::Role;
use std::fmt::Write;

/// One environment variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The variable's name, such as `GATEWAY_LISTEN`.
    pub name: &'static str,
    /// Its default as it would be written; empty for none.
    pub default: &'static str,
    /// What it means, for people.
    pub meaning: &'static str,
    /// The YAML key it sets, as an all-in-one file names it; empty for none.
    pub key: &'static str,
    /// The roles that read it.
    pub roles: &'static [Role],
}

const GATEWAY: &[Role] = &[Role::All, Role::Gateway];
const ANALYSIS: &[Role] = &[Role::All, Role::Analysis];
const EVERY: &[Role] = &[Role::All, Role::Gateway, Role::Analysis];

/// All variables, the specification's first.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "UPSTREAM_URL",
        default: "",
        meaning: "Address of the model server. Unset, `monitor all` uses its built-in demo upstream \
                  and `monitor gateway` does not start.",
        key: "upstream.url",
        roles: GATEWAY,
    },
    Variable {
        name: "MONITOR_URL",
        default: "",
        meaning: "Address of the monitoring backend. Unset, `monitor all` analyzes in its own \
                  process and `monitor gateway` sends no telemetry.",
        key: "monitor.url",
        roles: GATEWAY,
    },
    Variable {
        name: "MONITOR_APPLICATION_ID",
        default: "",
        meaning: "UUID of the application of calls without `X-Application-Id`.",
        key: "monitor.application_id",
        roles: GATEWAY,
    },
    Variable {
        name: "STORE_HOST",
        default: "",
        meaning: "Host of the PostgreSQL in which the analysis server keeps everything and gateways \
                  find policies. Unset, the analysis server keeps a file of its own, \
                  `monitor gateway` takes policies from `applications`, and without any no call is \
                  blocked.",
        key: "store.host",
        roles: EVERY,
    },
    Variable {
        name: "STORE_PORT",
        default: "5432",
        meaning: "Port of the PostgreSQL server.",
        key: "store.port",
        roles: EVERY,
    },
    Variable {
        name: "STORE_DB",
        default: "",
        meaning: "Name of the database.",
        key: "store.db",
        roles: EVERY,
    },
    Variable {
        name: "STORE_USER",
        default: "",
        meaning: "User of the database. An analysis server's user must be allowed to create tables; that of a \
                  gateway alone needs `SELECT` on the view `gateway_policies`.",
        key: "store.user",
        roles: EVERY,
    },
    Variable {
        name: "STORE_PASSWORD",
        default: "",
        meaning: "Password of that user.",
        key: "store.password",
        roles: EVERY,
    },
    Variable {
        name: "STORE_SSL",
        default: "auto",
        meaning: "`true`: TLS with a certificate that is valid for the host; `false`: no TLS; `auto`: TLS \
                  where the server offers it, without verifying the certificate.",
        key: "store.ssl",
        roles: EVERY,
    },
    Variable {
        name: "MONITOR_TIMEOUT",
        default: "60s",
        meaning: "Longest wait for one call to the backend.",
        key: "monitor.timeout",
        roles: GATEWAY,
    },
    Variable {
        name: "GATEWAY_UPSTREAM_TIMEOUT",
        default: "120s",
        meaning: "Longest wait for the upstream's response head, then for each silence after it.",
        key: "upstream.timeout",
        roles: GATEWAY,
    },
    Variable {
        name: "GATEWAY_STREAM_HEARTBEAT_SECONDS",
        default: "60s",
        meaning: "Silence in a stream after which the client gets a keepalive comment.",
        key: "stream.heartbeat",
        roles: GATEWAY,
    },
    Variable {
        name: "MONITOR_FILES_MAX_BYTES",
        default: "20MiB",
        meaning: "Largest attached file; a larger one is skipped.",
        key: "files.max_bytes",
        roles: GATEWAY,
    },
    Variable {
        name: "MONITOR_FILES_MAX_CONCURRENCY",
        default: "4",
        meaning: "Attached files of one call that are downloaded at once.",
        key: "files.max_concurrency",
        roles: GATEWAY,
    },
    Variable {
        name: "MONITOR_FILES_TIMEOUT",
        default: "60s",
        meaning: "Longest time for the download of one attached file.",
        key: "files.timeout",
        roles: GATEWAY,
    },
    Variable {
        name: "GATEWAY_LISTEN",
        default: "127.0.0.1:4100",
        meaning: "Where clients reach the gateway; several addresses are separated by commas. \
                  `monitor gateway` takes 0.0.0.0:4100 unless it is set.",
        key: "listen",
        roles: GATEWAY,
    },
    Variable {
        name: "ANALYSIS_LISTEN",
        default: "127.0.0.1:4200",
        meaning: "Where the analysis API is reached; several addresses are separated by commas. \
                  `monitor analysis` takes 0.0.0.0:4200 unless it is set.",
        key: "analysis.listen",
        roles: ANALYSIS,
    },
    Variable {
        name: "OPERATIONS_LISTEN",
        default: "127.0.0.1:4101",
        meaning: "Where metrics and health are served. `monitor analysis` takes 127.0.0.1:4201 \
                  unless it is set.",
        key: "operations",
        roles: EVERY,
    },
    Variable {
        name: "JUDGE_URL",
        default: "",
        meaning: "Address of the model server that judges custom policies, or `upstream` in \
                  `monitor all`. Unset, policies are matched by keywords, and answers say so.",
        key: "analysis.judge.url",
        roles: ANALYSIS,
    },
    Variable {
        name: "JUDGE_MODEL",
        default: "",
        meaning: "Name of the judge's model.",
        key: "analysis.judge.model",
        roles: ANALYSIS,
    },
    Variable {
        name: "JUDGE_API_KEY",
        default: "",
        meaning: "The judge's key, sent to it as bearer token.",
        key: "analysis.judge.api_key",
        roles: ANALYSIS,
    },
    Variable {
        name: "JUDGE_TIMEOUT",
        default: "10s",
        meaning: "Longest wait for the verdict on one message.",
        key: "analysis.judge.timeout",
        roles: ANALYSIS,
    },
    Variable {
        name: "OIDC_ISSUER",
        default: "",
        meaning: "Address of the OpenID Connect provider for signing in to the web UI. Unset, people \
                  sign in with passwords only.",
        key: "analysis.sign_in.oidc.issuer",
        roles: ANALYSIS,
    },
    Variable {
        name: "OIDC_CLIENT_ID",
        default: "",
        meaning: "Client id that the provider assigned to this service.",
        key: "analysis.sign_in.oidc.client_id",
        roles: ANALYSIS,
    },
    Variable {
        name: "OIDC_CLIENT_SECRET",
        default: "",
        meaning: "Client secret that the provider assigned to this service.",
        key: "analysis.sign_in.oidc.client_secret",
        roles: ANALYSIS,
    },
    Variable {
        name: "MONITOR_DATA_DIR",
        default: "./data",
        meaning: "Folder of the embedded database and other files the service keeps.",
        key: "data_dir",
        roles: EVERY,
    },
    Variable {
        name: "MONITOR_CONFIG",
        default: "",
        meaning: "The YAML file, where `--config` is not given.",
        key: "",
        roles: EVERY,
    },
];

impl Variable {
    /// The YAML key in a role's own file; None where the role does not read the variable.
    pub fn key_in(&self, role: Role) -> Option<&'static str> {
        let key = match role {
            Role::Analysis => self.key.strip_prefix("analysis.").unwrap_or(self.key),
            Role::All | Role::Gateway => self.key,
        };
        (self.roles.contains(&role) && !key.is_empty()).then_some(key)
    }
}

/// The variable that sets a key of a role's file.
pub(super) fn variable_for(role: Role, key: &str) -> Option<&'static Variable> {
    VARIABLES
        .iter()
        .find(|variable| variable.key_in(role) == Some(key))
}

/// The table of variables in docs/configuration.md, ending in a line end.
pub fn markdown_table() -> String {
    let mut table = String::from("| Variable | Default | YAML key | Read by | Meaning |\n");
    table.push_str("|---|---|---|---|---|\n");
    for variable in VARIABLES {
        let code = |text: &str| {
            if text.is_empty() {
                String::new()
            } else {
                format!("`{text}`")
            }
        };
        let roles: Vec<&str> = variable
            .roles
            .iter()
            .filter_map(|role| role.command().split(' ').nth(1))
            .collect();
        // Writing to a string has no failing case.
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} | {} |",
            variable.name,
            code(variable.default),
            code(variable.key),
            roles.join(", "),
            variable.meaning
        );
    }
    table
}

/// The part of `monitor --help` about variables.
pub fn help_text() -> String {
    let mut help = String::from(
        "Environment variables (a flag wins over its variable, a variable over the YAML file; an \
         empty one counts as not set):\n",
    );
    for variable in VARIABLES {
        let _ = write!(help, "\n  {}", variable.name);
        if !variable.key.is_empty() {
            let _ = write!(help, "  [YAML: {}]", variable.key);
        }
        if !variable.default.is_empty() {
            let _ = write!(help, "  [default: {}]", variable.default);
        }
        let _ = write!(help, "\n      {}", variable.meaning.replace('`', "'"));
    }
    help
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::{Overrides, Role, known_keys, load};
    use super::*;

    /// The hash with an upstream, a store and a judge, because what belongs to one has no effect without it,
    /// and with one more variable.
    fn hash(name: &str, value: &str) -> String {
        let env = |asked: &str| match asked {
            _ if asked == name => Some(value.to_owned()),
            "UPSTREAM_URL" => Some("http://model.example".to_owned()),
            "STORE_HOST" | "STORE_DB" | "STORE_USER" | "JUDGE_MODEL" => Some("there".to_owned()),
            "JUDGE_URL" => Some("http://judge.example".to_owned()),
            "OIDC_ISSUER" => Some("https://id.example".to_owned()),
            "OIDC_CLIENT_ID" => Some("here".to_owned()),
            _ => None,
        };
        load(Role::All, None, &Overrides::default(), &env)
            .unwrap()
            .hash()
    }

    #[test]
    fn every_variable_sets_a_known_key_in_each_of_its_roles() {
        for variable in VARIABLES.iter().filter(|variable| !variable.key.is_empty()) {
            for role in variable.roles {
                let key = variable.key_in(*role).unwrap().to_owned();
                assert!(
                    known_keys(*role).contains(&key),
                    "{} in {role:?}",
                    variable.name
                );
            }
        }
    }

    #[test]
    fn the_defaults_of_the_table_are_the_defaults_of_the_program() {
        for variable in VARIABLES
            .iter()
            .filter(|variable| !variable.default.is_empty())
        {
            let set = hash(variable.name, variable.default);
            assert_eq!(set, hash("", ""), "{}", variable.name);
        }
    }

    #[test]
    fn every_variable_with_a_key_changes_the_settings() {
        for variable in VARIABLES.iter().filter(|variable| !variable.key.is_empty()) {
            let value = match variable.key.rsplit('.').next().unwrap() {
                "url" | "issuer" => "http://127.0.0.1:9",
                "timeout" | "heartbeat" => "7s",
                "listen" | "operations" => "127.0.0.1:0",
                "application_id" => "00000000-0000-4000-8000-000000000001",
                "port" | "max_bytes" | "max_concurrency" => "7",
                "ssl" => "false",
                _ => "elsewhere",
            };
            assert_ne!(
                hash(variable.name, value),
                hash("", ""),
                "{}",
                variable.name
            );
        }
    }
}

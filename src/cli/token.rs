//! `monitor token …`: its flags, and how a token looks on a terminal. The actions are those of the
//! API (CONTRACT 30).

use super::failure::Failure;
use super::output::print;
use super::store::StoreArgs;
use super::time::minute;
use crate::analysis::{CreatedToken, Expiry, NewToken, Rotation, token_json};
use crate::app;
use crate::config::duration_from_text;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, ValueEnum};
use monitor_model::ApplicationId;
use monitor_store::{Scopes, Token, TokenId};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use uuid::Uuid;

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Create an access key and print it once.
    Create(CreateArgs),
    /// List access keys without their values.
    List(ListArgs),
    /// Revoke an access key for good.
    Revoke(OneArgs),
    /// Give an access key a new value and print it once.
    Rotate(RotateArgs),
}

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Name of the key, as lists show it.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    name: String,
    /// What the key may do.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Scope::Ingest])]
    scope: Vec<Scope>,
    /// Restrict the key to one application.
    #[arg(long, value_name = "UUID")]
    application: Option<Uuid>,
    /// Lifetime of the key, such as 90d; without it the key does not expire.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires: Option<Duration>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// List only the keys of this application.
    #[arg(long, value_name = "UUID")]
    application: Option<Uuid>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct OneArgs {
    /// Id of the key, from `monitor token list`.
    id: Uuid,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct RotateArgs {
    /// Id of the key, from `monitor token list`.
    id: Uuid,
    /// How long the old value stays valid, such as 10m.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0")]
    grace: Duration,
    #[command(flatten)]
    output: Output,
}

/// Options of every `token` command.
#[derive(Debug, Args)]
struct Output {
    /// Print JSON, as the API shows it.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// What an access key may do (CONTRACT 30).
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scope {
    /// Send messages for analysis.
    Ingest,
    /// Read records and statistics.
    Read,
    /// Change settings and keys.
    Admin,
    /// Read records without their original texts and files.
    #[value(name = "read_cleaned")]
    ReadCleaned,
    /// Decide about findings.
    Triage,
}

impl From<Scope> for monitor_store::Scope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Ingest => Self::Ingest,
            Scope::Read => Self::Read,
            Scope::Admin => Self::Admin,
            Scope::ReadCleaned => Self::ReadCleaned,
            Scope::Triage => Self::Triage,
        }
    }
}

/// Runs the command and prints its result.
pub(super) fn run(command: TokenCommand) -> Result<(), Failure> {
    print(output(command)?.as_bytes())
}

fn output(command: TokenCommand) -> Result<String, Failure> {
    match command {
        TokenCommand::Create(args) => {
            let settings = args.output.store.settings()?;
            let scopes: Vec<_> = args
                .scope
                .into_iter()
                .map(monitor_store::Scope::from)
                .collect();
            let new = NewToken {
                name: args.name,
                scopes: Scopes::of(&scopes),
                application_id: args.application.map(ApplicationId),
                expiry: args.expires.map_or(Expiry::Never, Expiry::In),
            };
            let made = app::create_token(&settings, new)?;
            Ok(args.output.made(&made))
        }
        TokenCommand::List(args) => {
            let application = args.application.map(ApplicationId);
            let tokens = app::list_tokens(&args.output.store.settings()?, application)?;
            Ok(args.output.list(&tokens))
        }
        TokenCommand::Revoke(args) => {
            let token = app::revoke_token(&args.output.store.settings()?, TokenId(args.id))?;
            Ok(args.output.list(std::slice::from_ref(&token)))
        }
        TokenCommand::Rotate(args) => {
            let rotation = Rotation {
                grace: args.grace,
                expiry: None,
            };
            let settings = args.output.store.settings()?;
            let made = app::rotate_token(&settings, TokenId(args.id), rotation)?;
            Ok(args.output.made(&made))
        }
    }
}

impl Output {
    /// The value alone, so that a shell can keep it.
    fn made(&self, made: &CreatedToken) -> String {
        if !self.json {
            return format!("{}\n", made.value.expose());
        }
        let mut token = token_json(&made.token);
        if let Value::Object(fields) = &mut token {
            fields.insert("value".to_owned(), json!(made.value.expose()));
        }
        format!("{token}\n")
    }

    fn list(&self, tokens: &[Token]) -> String {
        match self.json {
            true => format!("{}\n", Value::from_iter(tokens.iter().map(token_json))),
            false => table(tokens),
        }
    }
}

fn table(tokens: &[Token]) -> String {
    const HEAD: [&str; 7] = [
        "ID",
        "STATE",
        "SCOPES",
        "APPLICATION",
        "EXPIRES",
        "LAST USED",
        "NAME",
    ];
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.map_or(0, |now| now.as_millis() as i64);
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(tokens.iter().map(|token| row(token, now_ms)));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; 7] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for row in &rows {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

fn row(token: &Token, now_ms: i64) -> [String; 7] {
    let state = match token.revoked_at_ms {
        Some(_) => "revoked",
        None if token.is_valid_at(now_ms) => "valid",
        None => "expired",
    };
    [
        token.id.0.to_string(),
        state.to_owned(),
        token.scopes.names().join(","),
        token
            .application_id
            .map_or("any".to_owned(), |id| id.to_string()),
        token.expires_at_ms.map_or("never".to_owned(), minute),
        token.last_used_at_ms.map_or("never".to_owned(), minute),
        token.name.chars().filter(|c| !c.is_control()).collect(),
    ]
}

fn duration(text: &str) -> Result<Duration, String> {
    duration_from_text(text)
        .ok_or_else(|| "write it as 10m, 12h, 90d or in bare seconds".to_owned())
}

//! The changes that the writer makes, one enum value each, and which file carries each out.

use super::rows::NewRow;
use super::writer::{Outcome, Written};
use super::{
    accounts, applications, attachments, audit, erasure, policies, retention, saved, tokens,
};
use crate::{
    Application, ApplicationChange, AuditEntry, BlobHash, Erasure, NewAttachment, StoreError,
    Token, TokenChange, TokenHash, TokenId,
};
use monitor_model::ApplicationId;
use sqlx::{Connection, SqliteConnection};

/// One change of the database.
pub(super) enum Write {
    /// Goes with the other records of its batch and not through [`apply`].
    Record(Box<NewRow>),
    /// And who made it.
    Application(Box<Application>, String),
    ChangeApplication(Box<ApplicationChange>),
    RemoveApplication(ApplicationId, i64),
    /// The policy as JSON, or none.
    Policy(ApplicationId, Option<String>),
    Token(TokenHash, Box<Token>),
    ChangeToken(TokenId, TokenChange),
    Touch(TokenId, i64),
    Audit(Box<AuditEntry>),
    /// Of accounts, links and sign-ins.
    Account(Box<accounts::Change>),
    /// Of saved filters.
    Filter(Box<saved::Change>),
    /// One step of removing records.
    Retention(retention::Due),
    /// One step of giving free pages back.
    GiveBack,
    /// Bytes that are about to be written: hash, size, ticket.
    Claim(BlobHash, u64, i64),
    Attach(Box<NewAttachment>),
    Unlinked(u32),
    Forget(Vec<BlobHash>),
    Tombstone(Box<Erasure>),
    /// One step of erasing a user's records.
    Erase(Box<Erasure>),
}

/// Makes one change that is no record, all of it or nothing.
pub(super) async fn apply(connection: &mut SqliteConnection, write: Write) -> Outcome {
    // Within the batch's transaction this is a savepoint.
    let mut part = connection.begin().await?;
    match carry_out(&mut part, write).await {
        Ok(written) => {
            part.commit().await?;
            Ok(written)
        }
        Err(error) => {
            part.rollback().await?;
            Err(error)
        }
    }
}

async fn carry_out(connection: &mut SqliteConnection, write: Write) -> Outcome {
    match write {
        Write::Record(_) => return Err(StoreError::Unreadable("record")),
        Write::Application(application, by) => {
            applications::add(connection, *application, by).await?
        }
        Write::ChangeApplication(change) => {
            return Ok(Written::Changed(
                applications::change(connection, *change).await?,
            ));
        }
        Write::RemoveApplication(id, version) => {
            return Ok(Written::Changed(
                applications::remove(connection, id, version).await?,
            ));
        }
        Write::Policy(id, policy) => return policies::set(connection, id, policy).await,
        Write::Token(hash, token) => tokens::add(connection, hash, *token).await?,
        Write::ChangeToken(id, change) => {
            let token = tokens::change(connection, id, change).await?;
            return Ok(Written::Token(token.map(Box::new)));
        }
        Write::Touch(id, used_at_ms) => tokens::touch(connection, id, used_at_ms).await?,
        Write::Audit(entry) => audit::add(connection, *entry).await?,
        Write::Account(change) => return accounts::carry_out(connection, *change).await,
        Write::Filter(change) => return saved::carry_out(connection, *change).await,
        Write::Retention(due) => {
            return Ok(Written::Removed(retention::step(connection, due).await?));
        }
        Write::GiveBack => return Ok(Written::Removed(retention::give_back(connection).await?)),
        of_files => return carry_out_files(connection, of_files).await,
    }
    Ok(Written::New)
}

async fn carry_out_files(connection: &mut SqliteConnection, write: Write) -> Outcome {
    Ok(match write {
        Write::Claim(hash, size, ticket) => {
            Written::Ticket(attachments::claim(connection, (hash, size, ticket)).await?)
        }
        Write::Attach(new) => Written::Attached(attachments::attach(connection, *new).await?),
        Write::Unlinked(limit) => Written::Hashes(attachments::unlinked(connection, limit).await?),
        Write::Forget(hashes) => {
            attachments::forget(connection, hashes).await?;
            Written::New
        }
        Write::Tombstone(erasure) => {
            Written::Tombstone(erasure::add_tombstone(connection, &erasure).await?)
        }
        Write::Erase(erasure) => Written::Erased(erasure::step(connection, &erasure).await?),
        _ => return Err(StoreError::Unreadable("change")),
    })
}

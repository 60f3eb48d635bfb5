//! Decodes a compressed request body for the checks. The model server gets the bytes as they came, unless the policy
//! changes the text: then it gets the decoded one, without `Content-Encoding`.

use crate::edge::{Coding, Decoding};
use crate::fair_queue::heavy;
use crate::gateway::error::CallError;
use crate::gateway::exchange::body::{Body, MEMORY_WAIT};
use crate::gateway::limits::MemoryReservation;
use crate::gateway::state::Snapshot;
use bytes::Bytes;

/// The body with the decoded bytes in place of the encoded ones, which it keeps. All memory that decoding takes is
/// reserved, also what it gives back at its end.
pub(crate) async fn decoded(
    snapshot: &Snapshot,
    mut body: Body,
    coding: Coding,
) -> Result<Body, CallError> {
    let encoded = std::mem::take(&mut body.bytes);
    let holder = body.reservation.holder();
    let mut window = MemoryReservation::new(&snapshot.memory, holder);
    reserve(&mut window, coding.window(encoded.len())).await?;
    let limit = snapshot.settings.limits.decoded_bytes;
    let mut decoding = Decoding::new(coding, &encoded, limit).map_err(CallError::Undecodable)?;
    loop {
        let step = heavy(decoding.typical_text(), || decoding.next_step());
        let step = step.map_err(CallError::Undecodable)?;
        reserve(&mut body.reservation, step).await?;
        // The text is in memory twice while its buffer grows.
        let mut moved = MemoryReservation::new(&snapshot.memory, holder);
        reserve(&mut moved, decoding.decoded()).await?;
        if heavy(step, || decoding.step(step)).map_err(CallError::Undecodable)? {
            break;
        }
    }
    body.bytes = Bytes::from(decoding.into_text());
    body.encoded = Some(Box::new(encoded));
    Ok(body)
}

/// Reserves memory, waiting for other calls to release some.
async fn reserve(reservation: &mut MemoryReservation, bytes: usize) -> Result<(), CallError> {
    if reservation.grow(bytes).is_ok() {
        return Ok(());
    }
    let grown = reservation.grow_within(bytes, MEMORY_WAIT).await;
    grown.map_err(|full| CallError::Overloaded(full.0))
}

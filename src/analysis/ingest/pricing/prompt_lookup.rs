//! The tokens of a prompt that the model server did not count: the prompt's record has them.

use super::{LONGEST_DELAY, cost};
use crate::config::Prices;
use monitor_store::{CallCost, Exchange, ExchangeStore, RecordSummary, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// How long a record that nobody waits for is held for a look-up.
const LONGEST_LOOKUP: Duration = Duration::from_secs(5);
/// Before the second look for a prompt; each further pause is longer.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const PAUSE_GROWTH: u32 = 5;
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The cost of a call whose prompt the model server did not count.
pub(crate) struct PendingCost {
    exchanges: Arc<dyn ExchangeStore>,
    prices: Arc<Prices>,
    prompt: Exchange,
    is_awaited: bool,
}

impl PendingCost {
    pub(super) fn new(
        exchanges: Arc<dyn ExchangeStore>,
        prices: Arc<Prices>,
        prompt: Exchange,
    ) -> Self {
        Self {
            exchanges,
            prices,
            prompt,
            is_awaited: true,
        }
    }

    /// The same where nobody waits for it.
    pub(crate) fn unawaited(self) -> Self {
        Self {
            is_awaited: false,
            ..self
        }
    }

    /// The cost with the tokens of the prompt. It stays as it is where the prompt is not stored, and where the store
    /// does not say in time.
    pub(crate) async fn complete(self, known: CallCost) -> CallCost {
        let found = match self.is_awaited {
            // Whoever waits for an answer to be stored has waited for its prompt.
            true => timeout(LONGEST_DELAY, self.look_up()).await,
            false => timeout(LONGEST_LOOKUP, self.look_up_until_stored()).await,
        };
        let Ok(Ok(Some(prompt))) = found else {
            return known;
        };
        let mut usage = known.usage;
        usage.tokens.prompt_tokens = Some(prompt.token_count);
        usage.tokens = usage.tokens.completed();
        CallCost {
            counted_as: known.counted_as,
            ..cost(&self.prices, known.model, usage)
        }
    }

    async fn look_up(&self) -> Result<Option<RecordSummary>, StoreError> {
        self.exchanges.message_of(&self.prompt).await
    }

    /// Looks again and again: the prompt's record may be on its way to the store just before this one.
    async fn look_up_until_stored(&self) -> Result<Option<RecordSummary>, StoreError> {
        let mut pause = FIRST_PAUSE;
        loop {
            let found = self.look_up().await?;
            if found.is_some() {
                return Ok(found);
            }
            sleep(pause).await;
            pause = (pause * PAUSE_GROWTH).min(LONGEST_PAUSE);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::tests::prices;
    use super::super::without_prompts::{LookUp, WithoutPrompts};
    use super::*;
    use monitor_model::{ApplicationId, CallTokens, Stage};
    use monitor_store::Usage;
    use tokio::time::Instant;

    fn known() -> CallCost {
        let usage = Usage {
            tokens: CallTokens::from_array([None, None, None, Some(5), None, None]),
            estimated: true,
        };
        cost(&prices(1), Some("m-1".to_owned()), usage)
    }

    fn pending_in(store: &Arc<WithoutPrompts>) -> PendingCost {
        let prompt = Exchange {
            application_id: ApplicationId::random(),
            id: "x".to_owned(),
            stage: Stage::PreCall,
        };
        PendingCost::new(store.clone(), Arc::new(prices(1)), prompt)
    }

    /// How long it takes without the prompt, and how often the store is asked.
    async fn waited(look_up: LookUp, of: fn(PendingCost) -> PendingCost) -> (Duration, usize) {
        let store = Arc::new(WithoutPrompts::new(look_up));
        let began = Instant::now();
        assert_eq!(of(pending_in(&store)).complete(known()).await, known());
        (began.elapsed(), store.looks())
    }

    #[tokio::test(start_paused = true)]
    async fn a_record_does_not_wait_for_a_look_up_that_never_ends() {
        let rounding = Duration::from_millis(2);
        let (awaited, _) = waited(LookUp::NeverEnds, |pending| pending).await;
        assert!(
            awaited <= Duration::from_millis(250) + rounding,
            "{awaited:?}"
        );
        let (unawaited, _) = waited(LookUp::NeverEnds, PendingCost::unawaited).await;
        assert!(
            unawaited <= Duration::from_secs(5) + rounding,
            "{unawaited:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_prompt_that_is_not_stored_yet_is_looked_up_again_where_nobody_waits() {
        let (awaited, looks) = waited(LookUp::FindsNothing, |pending| pending).await;
        assert_eq!((awaited, looks), (Duration::ZERO, 1));
        let (unawaited, looks) = waited(LookUp::FindsNothing, PendingCost::unawaited).await;
        assert!(unawaited >= Duration::from_secs(4), "{unawaited:?}");
        assert!((5..20).contains(&looks), "{looks}");
    }
}

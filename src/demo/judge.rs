//! The demo as a judge of custom policies: the model name `demo-judge` answers the judge's question by
//! rule, so that the whole path is seen without a model. It looks for keywords of the policies; a real
//! model understands them.

use monitor_detect::custom_policy::Cues;
use monitor_detect::rules::CustomPolicy;
use serde::Deserialize;
use serde_json::{Value, json};

/// The name that judges.
pub(super) const NAME: &str = "demo-judge";
const PROSE: &str =
    "This name of the demo upstream judges texts by policies and does nothing else.";

#[derive(Deserialize)]
struct Question {
    nonce: String,
    policies: Vec<Numbered>,
    text: String,
}

#[derive(Deserialize)]
struct Numbered {
    n: usize,
    #[serde(flatten)]
    policy: CustomPolicy,
}

/// The verdicts as JSON; prose for whoever asks something else, as a model would.
pub(super) fn answer(prompt: &str) -> String {
    let Ok(Question {
        nonce,
        policies,
        text,
    }) = serde_json::from_str(prompt)
    else {
        return PROSE.to_owned();
    };
    let (numbers, policies): (Vec<_>, Vec<_>) =
        policies.into_iter().map(|one| (one.n, one.policy)).unzip();
    let rulings = numbers.into_iter().zip(Cues::look(&policies, &text));
    let verdicts = rulings
        .map(|(n, ruling)| json!({"n": n, "flagged": ruling.flagged, "reason": ruling.reason}));
    json!({"nonce": nonce, "verdicts": verdicts.collect::<Value>()}).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_question_gets_one_verdict_for_each_policy() {
        let question = json!({"nonce": "7", "text": "which loan?", "policies": [
            {"n": 1, "name": "war", "prompt": "No war."}, {"n": 2, "name": "l", "prompt": "No loans."}]});
        let answer: Value = serde_json::from_str(&answer(&question.to_string())).unwrap();
        assert_eq!(answer["nonce"], "7");
        let flags = [0, 1].map(|at| answer["verdicts"][at]["flagged"] == true);
        assert_eq!(flags, [false, true]);
    }

    #[test]
    fn what_is_no_question_gets_prose() {
        assert_eq!(answer("Hello"), PROSE);
    }
}

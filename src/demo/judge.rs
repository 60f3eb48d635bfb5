//! The demo as a judge of custom policies: the model name `demo-judge` answers the judge's question by
//! rule, so that the whole path is seen without a model. It looks for the policies' own words; a real
//! model understands them.

use super::completion::Answer;
use super::request::ChatCall;
use monitor_detect::custom_policy::Cues;
use monitor_detect::rules::CustomPolicy;
use serde::Deserialize;
use serde_json::json;

/// The name that judges.
pub(super) const NAME: &str = "demo-judge";

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
pub(super) fn answer(call: &ChatCall) -> Answer {
    let question = serde_json::from_str(call.prompt());
    Answer {
        text: question.map_or_else(|_| PROSE.to_owned(), |question| verdicts(&question)),
        finish_reason: "stop",
    }
}

const PROSE: &str =
    "This name of the demo upstream judges texts by policies and does nothing else.";

fn verdicts(question: &Question) -> String {
    let policies: Vec<_> = question
        .policies
        .iter()
        .map(|one| one.policy.clone())
        .collect();
    let rulings = Cues::look(&policies, &question.text);
    let verdicts: Vec<_> = question
        .policies
        .iter()
        .zip(rulings)
        .map(
            |(one, ruling)| json!({"n": one.n, "flagged": ruling.flagged, "reason": ruling.reason}),
        )
        .collect();
    json!({"nonce": question.nonce, "verdicts": verdicts}).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn ask(content: &str) -> String {
        let body = json!({"model": NAME, "messages": [{"role": "user", "content": content}]});
        answer(&ChatCall::read(body.to_string().as_bytes(), None).unwrap()).text
    }

    #[test]
    fn a_question_gets_one_verdict_for_each_policy() {
        let question = json!({"nonce": "7", "text": "which loan?", "policies": [
            {"n": 1, "name": "war", "prompt": "No war."}, {"n": 2, "name": "l", "prompt": "No loans."}]});
        let answer: Value = serde_json::from_str(&ask(&question.to_string())).unwrap();
        assert_eq!(answer["nonce"], "7");
        let flags = [0, 1].map(|at| answer["verdicts"][at]["flagged"] == true);
        assert_eq!(flags, [false, true]);
    }

    #[test]
    fn what_is_no_question_gets_prose() {
        assert_eq!(ask("Hello"), PROSE);
    }
}

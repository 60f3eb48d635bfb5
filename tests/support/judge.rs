//! A judge of custom policies in the test world: reads the question as it was sent and answers as the
//! test says. It knows nothing of the program but the wire.

use super::server::{Received, Seen};
use super::upstream::{Upstream, json};
use serde_json::{Value, json};

/// A question of the program to its judge.
#[derive(Clone, Debug)]
pub struct Question {
    /// The whole body of the call.
    pub call: Value,
    /// The user message, read as JSON.
    pub asked: Value,
}

impl Question {
    /// Reads a call.
    #[track_caller]
    pub fn of(request: &Received) -> Self {
        let call: Value = serde_json::from_slice(&request.body).expect("a chat call");
        let user = call["messages"][1]["content"].as_str().expect("a question");
        let asked = serde_json::from_str(user).expect("the question is JSON");
        Self { call, asked }
    }

    /// The text that is judged.
    pub fn text(&self) -> &str {
        self.asked["text"].as_str().expect("a text")
    }

    /// The right answer that flags these policies, by name.
    pub fn verdict(&self, flagged: impl Fn(&str) -> bool) -> String {
        let verdicts: Vec<Value> = self.asked["policies"]
            .as_array()
            .expect("policies")
            .iter()
            .map(|policy| {
                let flagged = flagged(policy["name"].as_str().expect("a name"));
                json!({"n": policy["n"], "flagged": flagged, "reason": "the judge's words"})
            })
            .collect();
        json!({"nonce": self.asked["nonce"], "verdicts": verdicts}).to_string()
    }
}

/// A chat completion that says these words.
pub fn completion(words: &str) -> Vec<u8> {
    let body = json!({"id": "c-1", "object": "chat.completion", "model": "judge", "choices":
        [{"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop"}]});
    json(200, &body.to_string())
}

/// A scripted judge.
pub struct Judge(pub Upstream);

impl Judge {
    /// One whose words the test makes of each question.
    pub fn saying(words: impl Fn(&Question) -> String + Send + Sync + 'static) -> Self {
        Self(Upstream::answering(move |request| {
            completion(&words(&Question::of(request)))
        }))
    }

    /// One that flags every policy in texts which contain `word`.
    pub fn flagging(word: &'static str) -> Self {
        Self::saying(move |question| {
            let flags = question.text().contains(word);
            question.verdict(|_| flags)
        })
    }

    /// The lines of `judge:` that lead to it, for `analysis:` of an all-in-one file.
    pub fn yaml(&self, more: &str) -> String {
        let url = self.0.url();
        format!("  judge: {{url: \"{url}\", model: judge{more}}}\n")
    }

    /// What it has seen.
    pub fn seen(&self) -> Seen {
        self.0.seen()
    }

    /// Every question so far.
    pub fn questions(&self) -> Vec<Question> {
        self.seen().requests.iter().map(Question::of).collect()
    }
}

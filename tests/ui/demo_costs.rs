//! What calls of the demo model cost, from the usage that a client gets to the records, the sums, their page, and the
//! budget that they spend.

use crate::agent::{APIS, Api};
use crate::world::administrator;
use serde_json::{Value, json};
use support::api::{patch, records};
use support::request::Request;
use support::stack::Stack;
use support::visitor::Visitor;
use support::{KEY, eventually, within_a_day};

/// A model, and what a token of a prompt and one of an answer cost, in millionths of the currency.
type Price = (&'static str, u64, u64);

const MODELS: [Price; 2] = [("demo-small", 1_000, 2_000), ("demo-large", 3_000, 5_000)];
const PRICES: &str = "  prices:\n    currency: EUR\n    models:\n      \
    demo-small: {input: 1000, output: 2000}\n      demo-large: {input: 3000, output: 5000}\n";
/// More than one call of each kind costs, in millionths.
const BUDGET: u64 = 3_000_000;

fn request(api: Api, model: &str, streams: bool) -> Request {
    let history = [json!({"role": "user", "content": "hello there"})];
    api.request(model, streams, &history)
}

/// Millionths of an amount.
#[track_caller]
fn millionths(amount: &Value) -> u64 {
    let amount = amount.as_str().unwrap_or_else(|| panic!("{amount}"));
    let amount: f64 = amount.parse().unwrap();
    (amount * 1e6).round() as u64
}

/// What is spent by model, as clients have counted it.
struct Spent<'s> {
    stack: &'s Stack,
    of_model: [u64; 2],
    calls: usize,
}

impl Spent<'_> {
    fn total(&self) -> u64 {
        self.of_model.iter().sum()
    }

    /// Makes a call, and compares its record with the usage of its answer.
    #[track_caller]
    fn call(&mut self, api: Api, model: usize, streams: bool) {
        let (name, of_prompt, of_answer) = MODELS[model];
        let session = format!("s-{}", self.calls);
        let call = request(api, name, streams).header("X-Session-Id", &session);
        let whole = api.whole(&self.stack.call(&call), streams);
        let (prompt, answer) = api.usage(&whole);
        assert!(prompt > 0 && answer > 0, "{whole}");
        let query = format!("stage=post&session_id={session}");
        let stored = eventually("the record of the answer", || {
            records(self.stack, &query).pop()
        });
        let usage = &stored["usage"];
        assert_eq!(
            (&usage["prompt_tokens"], &usage["completion_tokens"]),
            (&json!(prompt), &json!(answer)),
            "{api:?}: {stored}"
        );
        assert_eq!(
            (&stored["model"], &stored["priced"], &stored["currency"]),
            (&json!(name), &json!("priced"), &json!("EUR"))
        );
        let cost = prompt * of_prompt + answer * of_answer;
        assert_eq!(millionths(&stored["cost"]), cost, "{api:?}: {stored}");
        self.of_model[model] += cost;
        self.calls += 1;
    }

    /// The sums of the API and of the page are those of the clients.
    #[track_caller]
    fn assert_shown(&self, admin: &mut Visitor) {
        let sums = self.stack.analysis("/statistics/costs?group_by=model", KEY);
        let sums = sums.json()["costs"].as_array().unwrap().clone();
        let page = admin.get("/ui/costs").text();
        assert_eq!(sums.len(), MODELS.len(), "{sums:?}");
        for ((name, ..), spent) in MODELS.iter().zip(self.of_model) {
            let sum = sums.iter().find(|sum| sum["model"] == *name).unwrap();
            assert_eq!(millionths(&sum["cost"]), spent, "{name}");
            let shown = format!("{} EUR", sum["cost"].as_str().unwrap());
            assert!(
                page.contains(name) && page.contains(&shown),
                "{shown}: {page}"
            );
        }
        let calls: u64 = sums.iter().filter_map(|sum| sum["calls"].as_u64()).sum();
        assert_eq!(calls, self.calls as u64);
    }
}

#[test]
fn calls_of_the_demo_model_cost_their_usage_and_stop_when_the_budget_is_spent() {
    within_a_day(|| {
        let stack = Stack::all().yaml(PRICES).start();
        let mut admin = administrator(&stack);
        let path = format!("/applications/{}", stack.application_id());
        let budget =
            json!({"per": "application", "window": "month", "cost": "3", "action": "stop"});
        let policy = json!({"app_mode": "async", "budgets": [budget]});
        let version = stack.analysis(&path, KEY).json()["version"].clone();
        patch(
            &stack,
            &path,
            &json!({"version": version, "policy": policy}),
        );
        let mut spent = Spent {
            stack: &stack,
            of_model: [0, 0],
            calls: 0,
        };
        for api in APIS {
            for (model, streams) in [(0, false), (0, true), (1, false), (1, true)] {
                spent.call(api, model, streams);
            }
        }
        assert!(spent.total() < BUDGET, "too much to begin with");
        spent.assert_shown(&mut admin);
        while spent.total() < BUDGET {
            spent.call(Api::Chat, 1, false);
        }
        // What is spent is counted a moment later: until then calls pass.
        let refused = eventually("the budget is spent", || {
            let answer = stack.call(&request(Api::Chat, "free", false));
            (answer.status() != 200).then_some(answer)
        });
        assert_eq!(refused.status(), 429, "{}", refused.text());
        for (api, streams) in APIS.into_iter().flat_map(|api| [(api, false), (api, true)]) {
            let refused = stack.call(&request(api, "demo-small", streams));
            let json = refused.json();
            assert_eq!(refused.status(), 429, "{api:?}: {json}");
            let error = &json["error"];
            assert_eq!(error["type"], "rate_limit_error", "{json}");
            assert_eq!(error["reason"], "budget_exceeded", "{json}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("budget of money for this month"), "{json}");
            // §2.6: an integer, in the APIs whose errors have a code.
            match api {
                Api::Messages => assert_eq!(json["type"], "error"),
                _ => assert_eq!(error["code"], 429, "{json}"),
            }
        }
        let used = stack.analysis(&format!("{path}/budgets"), KEY).json();
        let used = &used["budgets"][0]["spending"][0];
        assert_eq!(used["level"], "spent", "{used}");
        assert_eq!(millionths(&used["costs"][0]["cost"]), spent.total());
        let page = admin.get(&format!("/ui{path}")).text();
        assert!(page.contains("badge bad\">spent"), "{page}");
    });
}

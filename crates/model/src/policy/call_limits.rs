//! How many calls of one application are admitted (CONTRACT 34): concurrently, and per second or minute. The
//! gateway counts them.

use super::problem::PolicyProblem;
use serde::Serialize;
use serde_json::{Map, Value};
use std::time::Duration;
use utoipa::ToSchema;

/// The largest number of each field.
const MOST: u32 = 1_000_000;

const FIELDS: [&str; 4] = [
    "requests_per_second",
    "requests_per_minute",
    "burst",
    "concurrent",
];
const TWO_RATES: &str = "cannot be combined with requests_per_second; allowed: one of the two";
const NO_RATE: &str = "needs requests_per_second or requests_per_minute";

/// How many calls are accepted; what is not set is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct CallLimits {
    /// Calls accepted per second, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    pub requests_per_second: Option<u32>,
    /// Calls accepted per minute, on average; not together with `requests_per_second`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    pub requests_per_minute: Option<u32>,
    /// How many calls may arrive at once; by default the number in the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    pub burst: Option<u32>,
    /// Concurrent calls; streams count until their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1, maximum = 1_000_000)]
    pub concurrent: Option<u32>,
}

/// A rate of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRate {
    /// The time that one call takes of it.
    pub interval: Duration,
    /// How many may come together.
    pub burst: u32,
}

impl CallLimits {
    /// None where any number of calls may come.
    pub fn rate(&self) -> Option<CallRate> {
        let second = self
            .requests_per_second
            .map(|calls| (Duration::from_secs(1), calls));
        let minute = self
            .requests_per_minute
            .map(|calls| (Duration::from_secs(60), calls));
        let (period, calls) = second.or(minute)?;
        Some(CallRate {
            interval: period / calls.max(1),
            burst: self.burst.unwrap_or(calls).max(1),
        })
    }
}

/// Reads the group `limits` of a policy; None where it bounds nothing. Problems name their field.
pub(super) fn read(value: &Value) -> Result<Option<CallLimits>, Vec<PolicyProblem>> {
    let Value::Object(map) = value else {
        let allowed = FIELDS.join(", ");
        let text = format!("is not a group of fields; allowed: {allowed}");
        return Err(vec![PolicyProblem::new("limits", text)]);
    };
    let mut problems = Vec::new();
    for key in map.keys().filter(|key| !FIELDS.contains(&key.as_str())) {
        let key: String = key.chars().take(40).collect();
        let text = format!("is an unknown field; allowed: {}", FIELDS.join(", "));
        problems.push(PolicyProblem::new(format!("limits.{key}"), text));
    }
    let [requests_per_second, requests_per_minute, burst, concurrent] =
        FIELDS.map(|key| count(map, key, &mut problems));
    let mut refuse = |holds: bool, key: &str, text: &str| {
        if holds {
            problems.push(PolicyProblem::new(format!("limits.{key}"), text));
        }
    };
    let two = requests_per_second.is_some() && requests_per_minute.is_some();
    refuse(two, "requests_per_minute", TWO_RATES);
    let has_rate = given(map, FIELDS[0]).or(given(map, FIELDS[1])).is_some();
    refuse(burst.is_some() && !has_rate, "burst", NO_RATE);
    let limits = CallLimits {
        requests_per_second,
        requests_per_minute,
        burst,
        concurrent,
    };
    match problems.is_empty() {
        true => Ok(Some(limits).filter(|limits| *limits != CallLimits::default())),
        false => Err(problems),
    }
}

fn given<'v>(map: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn count(map: &Map<String, Value>, key: &str, problems: &mut Vec<PolicyProblem>) -> Option<u32> {
    let value = given(map, key)?;
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
    let count = count.filter(|count| (1..=MOST).contains(count));
    if count.is_none() {
        let text = format!("is not a valid number of calls; allowed: 1 to {MOST}");
        problems.push(PolicyProblem::new(format!("limits.{key}"), text));
    }
    count
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_rate_has_an_interval_and_a_burst() {
        let limits = read(&json!({"requests_per_minute": 120, "concurrent": 3}));
        let limits = limits.unwrap().unwrap();
        let rate = limits.rate().unwrap();
        assert_eq!(
            (rate.interval, rate.burst),
            (Duration::from_millis(500), 120)
        );
        assert_eq!(limits.concurrent, Some(3));
        let limits =
            read(&json!({"requests_per_second": 10, "burst": 2, "requests_per_minute": null}));
        assert_eq!(limits.unwrap().unwrap().rate().unwrap().burst, 2);
        assert_eq!(read(&json!({"burst": null})), Ok(None));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_by_its_field() {
        for (value, key) in [
            (json!([]), "limits"),
            (json!({"per_second": 1}), "limits.per_second"),
            (json!({"concurrent": 0}), "limits.concurrent"),
            (json!({"concurrent": 1.5}), "limits.concurrent"),
            (
                json!({"requests_per_second": "5"}),
                "limits.requests_per_second",
            ),
            (
                json!({"requests_per_second": 5, "requests_per_minute": 5}),
                "limits.requests_per_minute",
            ),
            (json!({"burst": 5}), "limits.burst"),
        ] {
            let problems = read(&value).unwrap_err();
            assert_eq!(problems.len(), 1, "{value}: {problems:?}");
            assert_eq!(problems[0].key, key);
        }
    }
}

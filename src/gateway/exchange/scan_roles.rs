//! What a policy has checked of a call, as the readers of requests and answers know it: the roles whose messages are
//! checked (CONTRACT 3), and what of calls of tools.

use monitor_model::{Policy, ScanRole};
use monitor_wire::json::{self, CallTexts};

/// What a policy has checked of calls of tools.
pub(super) fn call_texts(policy: &Policy) -> CallTexts {
    match policy.check_tool_arguments {
        true => CallTexts::Whole,
        false => CallTexts::Names,
    }
}

/// The roles of a policy.
pub(super) fn roles(policy: &Policy) -> Vec<json::ScanRole> {
    let roles = policy.scan_roles.iter();
    roles
        .map(|role| match role {
            ScanRole::LastUser => json::ScanRole::LastUser,
            ScanRole::AllUser => json::ScanRole::AllUser,
            ScanRole::UserTurn => json::ScanRole::UserTurn,
            ScanRole::System => json::ScanRole::System,
            ScanRole::Assistant => json::ScanRole::Assistant,
            ScanRole::Tool => json::ScanRole::Tool,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_model::AppMode;

    #[test]
    fn contract_3_the_roles_of_a_policy_are_those_that_are_read() {
        let mut policy = Policy::new(AppMode::Sync, "no");
        policy.scan_roles = vec![
            ScanRole::LastUser,
            ScanRole::AllUser,
            ScanRole::UserTurn,
            ScanRole::System,
            ScanRole::Assistant,
            ScanRole::Tool,
        ];
        let expected = [
            json::ScanRole::LastUser,
            json::ScanRole::AllUser,
            json::ScanRole::UserTurn,
            json::ScanRole::System,
            json::ScanRole::Assistant,
            json::ScanRole::Tool,
        ];
        assert_eq!(roles(&policy), expected);
    }
}

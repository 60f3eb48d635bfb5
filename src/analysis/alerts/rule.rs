//! Rules, as the services see them; what is allowed in one is the configuration's.

pub(crate) use crate::config::{
    AlertRuleKind as RuleKind, AlertRuleSettings as Rule, HIGHEST_COUNT,
};

use crate::analysis::error::FieldProblem;
use crate::analysis::text_checks::check_name;
use monitor_store::VerdictFilter;

impl Rule {
    /// The verdict that it looks for.
    pub(crate) fn verdict(&self) -> Option<VerdictFilter> {
        let is_known = self.kind.verdicts().contains(&self.verdict.as_str());
        let mut verdicts = VerdictFilter::ALL.into_iter();
        verdicts.find(|one| is_known && one.as_str() == self.verdict)
    }

    /// Everything that is wrong with it.
    pub(crate) fn problems(&self) -> Vec<FieldProblem> {
        let mut problems: Vec<_> = check_name(&self.name).err().into_iter().collect();
        let wrong = self.wrong().into_iter();
        problems.extend(wrong.map(|(field, problem)| FieldProblem::new(field, problem)));
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b10_every_verdict_of_a_rule_is_one_of_the_records() {
        for kind in RuleKind::ALL {
            for verdict in kind.verdicts() {
                let rule = Rule {
                    kind,
                    verdict: (*verdict).to_owned(),
                    ..Rule::default()
                };
                let found = rule.verdict().map(VerdictFilter::as_str);
                assert_eq!(found, Some(*verdict));
            }
        }
        let nameless = Rule {
            verdict: "clean".to_owned(),
            ..Rule::default()
        };
        assert_eq!(nameless.verdict(), None);
        let fields: Vec<_> = nameless.problems().into_iter().map(|it| it.field).collect();
        assert_eq!(fields, ["name", "verdict"]);
    }
}

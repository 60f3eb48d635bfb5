//! The sections of the navigation, and who may open which.

use crate::analysis::access::Scope;
use crate::analysis::ui::request::visit::Visit;

/// A section of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Overview,
    Records,
    Findings,
    Sessions,
    People,
    Costs,
    Applications,
    Users,
    Tokens,
    Alerts,
    Audit,
    Status,
    FirstSteps,
    /// One's own account; not in the list, linked from the account corner.
    Account,
}

pub(crate) struct Item {
    pub(crate) section: Section,
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
    /// The path of its SVG icon, 24 by 24.
    pub(crate) picture: &'static str,
    is_shown: bool,
}

/// The sections that this person may open, in order.
pub(crate) fn items(visit: &Visit) -> Vec<Item> {
    let all = traffic(visit).into_iter().chain(sums(visit));
    let all = all.chain(settings(visit));
    let all = all.chain(operation(visit));
    all.filter(|item| item.is_shown).collect()
}

fn traffic(visit: &Visit) -> [Item; 4] {
    let (r, o) = (visit.view.r(), visit.view.o());
    let may_read = visit.may_read();
    [
        Item {
            section: Section::Overview,
            path: "/ui/overview",
            name: o.overview,
            picture: "M4 20V10M10 20V4M16 20v-7M21 20H3",
            is_shown: may_read,
        },
        Item {
            section: Section::Records,
            path: "/ui/records",
            name: r.records,
            picture: "M5 4h14v16H5zM8.5 8.5h7M8.5 12h7M8.5 15.5h4",
            is_shown: may_read,
        },
        Item {
            section: Section::Findings,
            path: "/ui/findings",
            name: visit.view.f().findings,
            picture: "M6 21V4M6 5h11l-2.5 3.5L17 12H6",
            is_shown: may_read,
        },
        Item {
            section: Section::Sessions,
            path: "/ui/sessions",
            name: r.sessions,
            picture: "M4 5h11v8H8l-4 3zM10 16h6l4 3V9h-2",
            is_shown: may_read,
        },
    ]
}

fn sums(visit: &Visit) -> [Item; 2] {
    let may_read = visit.may_read();
    [
        Item {
            section: Section::People,
            path: "/ui/people",
            name: visit.view.p().people,
            picture: "M12 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21c0-5 4-7 8-7s8 2 8 7",
            is_shown: may_read,
        },
        Item {
            section: Section::Costs,
            path: "/ui/costs",
            name: visit.view.c().costs,
            picture: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM15 8.5h-4a2 2 0 0 0 0 3.5h2a2 2 0 0 1 0 3.5H9M12 6.5v11",
            is_shown: may_read,
        },
    ]
}

fn settings(visit: &Visit) -> [Item; 3] {
    let t = visit.view.t;
    [
        Item {
            section: Section::Applications,
            path: "/ui/applications",
            name: t.applications,
            picture: "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z",
            is_shown: true,
        },
        Item {
            section: Section::Tokens,
            path: "/ui/tokens",
            name: visit.view.k().tokens,
            picture: "M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM11 12.5 20 4M16.5 7.3l2.7 2.7M13.6 10l2 2",
            is_shown: visit.may(Scope::Admin),
        },
        Item {
            section: Section::Users,
            path: "/ui/users",
            name: t.users,
            picture: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3 20c0-4 3-6 6-6s6 2 6 6M16 4.5a3.3 3.3 0 0 1 0 6M17.5 14.5c2.2.8 3.5 2.5 3.5 5.5",
            is_shown: visit.is_administrator(),
        },
    ]
}

fn operation(visit: &Visit) -> [Item; 4] {
    let o = visit.view.o();
    let is_whole = visit.account.application_id.is_none();
    [
        Item {
            section: Section::Alerts,
            path: "/ui/alerts",
            name: visit.view.alerts().alerts,
            picture: "M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 21h4M12 5V3",
            is_shown: visit.is_administrator(),
        },
        Item {
            section: Section::Audit,
            path: "/ui/audit",
            name: o.audit,
            picture: "M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7",
            is_shown: visit.is_administrator(),
        },
        Item {
            section: Section::Status,
            path: "/ui/status",
            name: o.status,
            picture: "M3 12h4l3-8 4 16 3-8h4",
            is_shown: is_whole,
        },
        Item {
            section: Section::FirstSteps,
            path: "/ui/first-steps",
            name: o.first_steps,
            picture: "M5 21V4M5 5h13l-3 4 3 4H5",
            is_shown: true,
        },
    ]
}

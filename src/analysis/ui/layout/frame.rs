//! The frame of a page: head, navigation, the person's corner, and the pages without navigation.

use super::assets;
use super::components::token_field;
use super::view::{Language, Theme, View};
use super::visit::Visit;
use axum::response::Html;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use monitor_model::GATEWAY_VERSION;
use monitor_store::Scope;

/// The last element of a page.
const END: &str = "page-end";

/// A section of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Overview,
    Records,
    Sessions,
    Applications,
    Users,
    Tokens,
    Audit,
    Status,
    FirstSteps,
    /// Reached from the person's corner.
    Own,
}

struct Item {
    section: Section,
    path: &'static str,
    name: &'static str,
    /// The path of its picture, 24 by 24.
    picture: &'static str,
    is_shown: bool,
}

fn items(visit: &Visit) -> Vec<Item> {
    let all = seen(visit).into_iter().chain(set(visit));
    let all = all.chain(kept_in_order(visit));
    all.filter(|item| item.is_shown).collect()
}

/// What happened.
fn seen(visit: &Visit) -> [Item; 3] {
    let (r, o) = (visit.view.r(), visit.view.o());
    let may_read = visit.may(Scope::Read);
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
            section: Section::Sessions,
            path: "/ui/sessions",
            name: r.sessions,
            picture: "M4 5h11v8H8l-4 3zM10 16h6l4 3V9h-2",
            is_shown: may_read,
        },
    ]
}

/// What is set.
fn set(visit: &Visit) -> [Item; 3] {
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

/// How the service is kept in order, and where to begin.
fn kept_in_order(visit: &Visit) -> [Item; 3] {
    let o = visit.view.o();
    let is_whole = visit.account.application_id.is_none();
    [
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

/// A page of somebody who is signed in.
pub(super) fn page(visit: &Visit, section: Section, title: &str, content: Markup) -> Html<String> {
    let view = &visit.view;
    let t = view.t;
    document(
        view,
        (title, html! {}),
        html! {
            a.skip href="#main" { (t.skip) }
            div.shell {
                header.side {
                    a.brand href="/ui" { img src=(assets::address("icon.svg")) alt="" width="22" height="22"; "Monitor" }
                    nav aria-label=(t.navigation) {
                        @for item in items(visit) {
                            a href=(item.path) aria-current=[(item.section == section).then_some("page")] {
                                (picture(item.picture)) span { (item.name) }
                            }
                        }
                    }
                    (corner(visit, section))
                }
                main #main tabindex="-1" { (content) }
            }
        },
    )
}

/// A page of whoever is not signed in.
pub(super) fn alone(view: &View, title: &str, content: Markup) -> Html<String> {
    document(view, (title, html! {}), frame_alone(view, title, content))
}

fn frame_alone(view: &View, title: &str, content: Markup) -> Markup {
    html! {
        main.alone #main {
            div.brand { img src=(assets::address("icon.svg")) alt="" width="26" height="26"; "Monitor" }
            section.card { h1 { (title) } (content) }
            div.switches { (switches(view)) }
        }
    }
}

/// A page that leads to another one by itself: cookies that no other site may use come along only from
/// a page of ours.
pub(super) fn passage(view: &View, title: &str, next: &str) -> Html<String> {
    let lead = html! { meta http-equiv="refresh" content={ "0; url=" (next) }; };
    let content = html! { p { a.button.primary href=(next) { (view.t.go_on) } } };
    document(view, (title, lead), frame_alone(view, title, content))
}

/// A page that says why another one is not shown.
pub(super) fn failure(view: &View, title: &str, text: &str) -> Html<String> {
    alone(
        view,
        title,
        html! {
            p { (text) }
            p { a.button href="/ui" { (view.t.back_to_start) } }
        },
    )
}

/// The same as a part of a page.
pub(super) fn fragment_failure(title: &str, text: &str) -> Html<String> {
    Html(html! { div.notice.bad role="alert" { strong { (title) } " " (text) } }.into_string())
}

fn document(view: &View, (title, lead): (&str, Markup), body: Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang=(view.language.code()) data-theme=[view.theme.map(Theme::word)] {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content=(view.theme.map_or("light dark", Theme::word));
                (lead)
                title { (title) " · Monitor" }
                link rel="icon" href=(assets::address("icon.svg")) type="image/svg+xml";
                link rel="stylesheet" href=(assets::address("app.css"));
                script src=(assets::address("app.js")) defer {}
                // Pages are small: browsers that know this paint them whole, so that nothing moves while the
                // rest arrives.
                link rel="expect" href={ "#" (END) } blocking="render";
            }
            body { (body) div id=(END) hidden {} }
        }
    };
    Html(page.into_string())
}

fn picture(path: &str) -> Markup {
    html! { svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" { path d=(path) {} } }
}

fn corner(visit: &Visit, section: Section) -> Markup {
    let (view, t) = (&visit.view, visit.view.t);
    html! {
        div.corner {
            div.who {
                strong { (visit.account.name) }
                span.dim { (super::accounts::role_name(t, visit.account.role)) }
            }
            div.own {
                @if visit.account.password.is_some() { a href="/ui/password" aria-current=[(section == Section::Own).then_some("page")] { (t.password) } }
                form method="post" action="/ui/sign-out" {
                    (token_field(view))
                    button.link type="submit" { (t.sign_out) }
                }
            }
            div.switches { (switches(view)) }
            div.dim.small { "Monitor " (GATEWAY_VERSION) }
        }
    }
}

fn switches(view: &View) -> Markup {
    let t = view.t;
    let languages = [
        (Language::English, "EN", "English"),
        (Language::Russian, "RU", "Русский"),
    ];
    let themes = [(Theme::Light, "☀", t.light), (Theme::Dark, "☾", t.dark)];
    html! {
        form.switch method="post" action="/ui/preferences" aria-label=(t.language) {
            (token_field(view)) input type="hidden" name="next" value=(view.here);
            @for (language, short, name) in languages {
                button type="submit" name="language" value=(language.code()) title=(name) lang=(language.code())
                    aria-pressed=(view.language == language) { (short) }
            }
        }
        form.switch method="post" action="/ui/preferences" aria-label=(t.theme) {
            (token_field(view)) input type="hidden" name="next" value=(view.here);
            @for (theme, sign, name) in themes {
                button type="submit" name="theme" value=(theme.word()) title=(name) aria-label=(name)
                    aria-pressed=(view.theme == Some(theme)) { span aria-hidden="true" { (sign) (PreEscaped("&#xFE0E;")) } }
            }
        }
    }
}

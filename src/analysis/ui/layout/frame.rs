//! The frame of a page: head, navigation, the person's corner, and the pages without navigation.

use super::components::token_field;
use super::keys;
use super::navigation::{Section, items};
use crate::analysis::ui::assets;
use crate::analysis::ui::paths::OWN_SIGN_INS;
use crate::analysis::ui::request::view::{Clock, Language, Theme, View};
use crate::analysis::ui::request::visit::Visit;
use axum::response::Html;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use monitor_model::GATEWAY_VERSION;

/// The last element of a page.
const END: &str = "page-end";

/// A page of somebody who is signed in.
pub(crate) fn page(visit: &Visit, section: Section, title: &str, content: Markup) -> Html<String> {
    let view = &visit.view;
    let t = view.t;
    document(
        view,
        title,
        html! {},
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
            (keys::dialogs(view))
        },
    )
}

/// A page of whoever is not signed in.
pub(crate) fn signed_out_page(view: &View, title: &str, content: Markup) -> Html<String> {
    document(
        view,
        title,
        html! {},
        signed_out_frame(view, title, content),
    )
}

fn signed_out_frame(view: &View, title: &str, content: Markup) -> Markup {
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
pub(crate) fn redirect_page(view: &View, title: &str, next: &str) -> Html<String> {
    let lead = html! { meta http-equiv="refresh" content={ "0; url=" (next) }; };
    let content = html! { p { a.button.primary href=(next) { (view.t.go_on) } } };
    document(view, title, lead, signed_out_frame(view, title, content))
}

/// A page that says why another one is not shown.
pub(crate) fn error_page(view: &View, title: &str, text: &str) -> Html<String> {
    signed_out_page(
        view,
        title,
        html! {
            p { (text) }
            p { a.button href="/ui" { (view.t.back_to_start) } }
        },
    )
}

/// The same as a part of a page.
pub(crate) fn error_fragment(title: &str, text: &str) -> Html<String> {
    Html(html! { div.notice.bad role="alert" { strong { (title) } " " (text) } }.into_string())
}

/// Says in a part of a page that nobody is signed in. The link opens another window: the page may have a form.
pub(crate) fn signed_out_fragment(view: &View, text: &str) -> Html<String> {
    let part = html! {
        div.notice.bad role="alert" {
            (text) " " a href="/ui/sign-in" target="_blank" rel="noopener" { (view.t.sign_in) }
        }
    };
    Html(part.into_string())
}

/// The whole document; `lead` goes into its head.
fn document(view: &View, title: &str, lead: Markup, body: Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang=(view.language.code()) data-theme=[view.theme.map(Theme::word)] data-clock=[view.clock.map(Clock::word)] {
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
                span.dim { (t.role_name(visit.account.role)) }
            }
            div.own {
                @if visit.account.password.is_some() { a href="/ui/password" aria-current=[(section == Section::Account).then_some("page")] { (t.password) } }
                @else { a href=(OWN_SIGN_INS) aria-current=[(section == Section::Account).then_some("page")] { (view.s().sign_ins) } }
                form method="post" action="/ui/sign-out" {
                    (token_field(view))
                    button.link type="submit" { (t.sign_out) }
                }
            }
            (keys::buttons(view))
            div.switches { (switches(view)) }
            (clock_switch(view))
            div.dim.small { "Monitor " (GATEWAY_VERSION) }
        }
    }
}

/// The zone in which the script writes times, with its name.
fn clock_switch(view: &View) -> Markup {
    let k = view.keys();
    let clocks = [(Clock::Local, k.local), (Clock::Utc, "UTC")];
    let chosen = view.clock.unwrap_or(Clock::Local);
    html! {
        div.switches.scripted {
            form.switch method="post" action="/ui/preferences" aria-label=(k.clock) {
                (token_field(view)) input type="hidden" name="next" value=(view.here);
                @for (clock, name) in clocks {
                    button type="submit" name="clock" value=(clock.word()) aria-pressed=(chosen == clock) { (name) }
                }
            }
        }
        // The name takes the place of this one, so that nothing moves.
        div.dim.small.scripted data-zone { "UTC" }
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

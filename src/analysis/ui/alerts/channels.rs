//! The channels of alerts: their list, and the form that adds or changes one. Addresses and secrets are not shown.

use super::{Filled, PAGE};
use crate::analysis::FieldProblem;
use crate::analysis::alerts::KnownChannel;
use crate::analysis::alerts::channel::{Channel, ChannelEdit, ChannelKind, Mail, MailTls};
use crate::analysis::ui::layout::components::{badge, choice, token_field};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::phrases::AlertPhrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use maud::{Markup, html};

pub(super) fn section(visit: &Visit, channels: &[KnownChannel]) -> Markup {
    let (t, a) = (visit.view.t, visit.view.alerts());
    let table = Table {
        name: a.channels,
        look: "",
        columns: [
            Column::Text(t.name),
            Column::Text(a.kind),
            Column::Text(a.server),
            Column::Actions(t.actions),
        ],
    };
    let rows = html! {
        @for known in channels { (table.row([
            html! { (known.channel.name) },
            html! { (known.channel.kind.as_str()) @if !known.channel.mail.to.is_empty() { " " span.dim { (known.channel.mail.to.join(", ")) } } },
            html! { code { (known.channel.host()) } },
            row_actions(visit, known),
        ])) }
    };
    html! {
        h2 { (a.channels) }
        @if channels.is_empty() { div.empty { (a.no_channels) } } @else { div.table { (table.of(rows)) } }
    }
}

fn row_actions(visit: &Visit, known: &KnownChannel) -> Markup {
    let (t, a) = (visit.view.t, visit.view.alerts());
    let (id, name) = (known.id.to_string(), &known.channel.name);
    html! {
        form.inline method="post" action={ (PAGE) "/channels/" (id) "/test" } {
            (token_field(&visit.view))
            button.quiet type="submit" { (a.test) span.hidden { " " (name) } }
        }
        @if known.is_in_file { (badge("plain", a.in_file)) } @else {
            a.button.quiet href={ (address(PAGE, &[("channel", &id)])) "#channel" } { (a.edit) span.hidden { " " (name) } }
            form.inline method="post" action={ (PAGE) "/channels/" (id) "/remove" } {
                (token_field(&visit.view))
                button.quiet.danger type="submit" data-confirm={ (a.remove_channel_question) " " (name) } {
                    (t.remove) span.hidden { " " (name) }
                }
            }
        }
    }
}

/// The channel that a form describes.
pub(super) fn read(form: &Form) -> Result<ChannelEdit, FieldProblem> {
    let kind = ChannelKind::from_name(form.text("kind"));
    let unknown = || FieldProblem::new("kind", "is not one of the list");
    Ok(ChannelEdit {
        name: form.text("name").trim().to_owned(),
        kind: kind.ok_or_else(unknown)?,
        url: form.secret("url"),
        secret: form.secret("secret"),
        chat: form.text("chat").trim().to_owned(),
        mail: mail(form)?,
    })
}

fn mail(form: &Form) -> Result<Mail, FieldProblem> {
    let tls = match form.text("tls") {
        "" => Some(MailTls::default()),
        word => MailTls::from_name(word),
    };
    let unknown = || FieldProblem::new("tls", "is not one of the list");
    let to = form.text("to").split([',', ';']).map(str::trim);
    Ok(Mail {
        tls: tls.ok_or_else(unknown)?,
        user: form.text("user").trim().to_owned(),
        from: form.text("from").trim().to_owned(),
        to: to
            .filter(|one| !one.is_empty())
            .map(str::to_owned)
            .collect(),
    })
}

/// The form of the channel that is changed, or of a new one. What was typed as address and secret is typed again.
pub(super) fn form(visit: &Visit, channels: &[KnownChannel], filled: &Filled) -> Markup {
    let (t, a) = (visit.view.t, visit.view.alerts());
    let mut channels = channels.iter();
    let known = channels.find(|known| Some(known.id) == filled.channel_id && !known.is_in_file);
    let is_open = filled.channel.is_some() || known.is_some();
    let form = filled.channel.as_ref();
    let typed = |name| form.map(|form| form.text(name).to_owned());
    let channel = known.map(|known| &known.channel);
    let name = typed("name").or_else(|| channel.map(|it| it.name.clone()));
    let chat = typed("chat").or_else(|| channel.map(|it| it.chat.clone()));
    let kind = typed("kind").or_else(|| channel.map(|it| it.kind.as_str().to_owned()));
    let kind = kind.unwrap_or_default();
    let title = if known.is_some() {
        a.edit_channel
    } else {
        a.new_channel
    };
    html! {
        details.card #channel open[is_open] {
            summary { (title) }
            form method="post" action={ (PAGE) "/channels" } {
                (token_field(&visit.view))
                @if let Some(known) = known { input type="hidden" name="id" value=(known.id); }
                div.row {
                    label { (t.name) input name="name" value=(name.unwrap_or_default()) required maxlength="200" autocomplete="off"; }
                    label { (a.kind) select name="kind" {
                        @for one in ChannelKind::ALL { (choice(one.as_str(), one.as_str(), &kind)) }
                    } }
                }
                (place(a, &chat.unwrap_or_default()))
                (letters(a, channel, filled))
                p.hint { (a.kept_hint) }
                button.primary type="submit" { (t.save) }
            }
        }
    }
}

/// What only a mail server has.
fn letters(a: &AlertPhrases, channel: Option<&Channel>, filled: &Filled) -> Markup {
    let mail = channel.map(|it| it.mail.clone()).unwrap_or_default();
    let stored = [
        ("user", a.mail_user, mail.user),
        ("from", a.mail_from, mail.from),
        ("to", a.mail_to, mail.to.join(", ")),
    ];
    let typed = filled.channel.as_ref();
    let typed = |name: &str, stored: &str| {
        let typed = typed.and_then(|form| form.value(name));
        typed.unwrap_or(stored).to_owned()
    };
    let tls = typed("tls", mail.tls.as_str());
    html! {
        div.row {
            @for (name, label, value) in &stored {
                label { (label) input name=(name) value=(typed(name, value)) maxlength="6000" autocomplete="off"; }
            }
            label { (a.mail_tls) select name="tls" {
                @for one in MailTls::ALL { (choice(one.as_str(), one.as_str(), &tls)) }
            } }
        }
        p.hint { (a.mail_hint) }
    }
}

fn place(a: &AlertPhrases, chat: &str) -> Markup {
    html! {
        div.row {
            label { (a.address) input name="url" inputmode="url" maxlength="2000" autocomplete="off"; }
            label { (a.secret) input type="password" name="secret" maxlength="2000" autocomplete="new-password"; }
            label { (a.chat) input name="chat" value=(chat) maxlength="2000" autocomplete="off"; }
        }
    }
}

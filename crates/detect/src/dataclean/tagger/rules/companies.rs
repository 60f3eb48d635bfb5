//! COMPANY by form: a legal form before or behind a name, or a word such as "компания" before a name in
//! quotes. Removes what only looks like an organization.

use crate::dataclean::tagger::crf::table::COMPANY_KIND;
use crate::dataclean::tagger::sentence::Sentence;
use crate::dataclean::tagger::token::{Gap, Kind};
use foldhash::fast::RandomState;
use std::collections::HashSet;
use std::sync::LazyLock;

/// The most tokens inside the quotes of a name.
const LONGEST_QUOTED: usize = 9;

/// Russian legal forms.
fn is_form(word: &str) -> bool {
    matches!(
        word,
        "ООО"
            | "АО"
            | "ПАО"
            | "ЗАО"
            | "ОАО"
            | "НАО"
            | "АНО"
            | "ГУП"
            | "МУП"
            | "ФГУП"
            | "ФГБУ"
            | "ФГБОУ"
            | "ГБУ"
            | "МБУ"
            | "МБОУ"
            | "ГБОУ"
            | "НКО"
            | "ТОО"
            | "ЧОП"
            | "ТСЖ"
            | "СНТ"
            | "ОДО"
            | "КФХ"
            | "НПО"
            | "ЖСК"
            | "ЧУ"
            | "ГКУ"
            | "ооо"
            | "оао"
            | "зао"
            | "пао"
    )
}
/// English legal forms and other last words of a name.
fn is_suffix(word: &str) -> bool {
    matches!(
        word,
        "Inc"
            | "LLC"
            | "Ltd"
            | "GmbH"
            | "Corp"
            | "Corporation"
            | "PLC"
            | "LLP"
            | "Limited"
            | "Incorporated"
            | "AG"
            | "Sons"
            | "Co"
            | "Holdings"
            | "N.V"
            | "B.V"
            | "S.A"
            | "Pty"
            | "Oy"
            | "AB"
    )
}
/// Abbreviations that name no organization.
const NOT: &[&str] = &[
    "ИНН",
    "КПП",
    "ОГРН",
    "ОГРНИП",
    "СНИЛС",
    "БИК",
    "ОКПО",
    "ОКВЭД",
    "ФИО",
    "НДС",
    "CVC",
    "CVV",
    "CVC2",
    "CVV2",
    "CID",
    "PIN",
    "IBAN",
    "BIC",
    "SWIFT",
    "API",
    "HTTP",
    "HTTPS",
    "URL",
    "JSON",
    "XML",
    "CSV",
    "PDF",
    "HTML",
    "CSS",
    "SQL",
    "IP",
    "DNS",
    "SSH",
    "TCP",
    "UDP",
    "VPN",
    "USB",
    "CPU",
    "GPU",
    "RAM",
    "ID",
    "UUID",
    "SMS",
    "СМС",
    "ОС",
    "ПО",
    "ПК",
    "ТЗ",
    "ДТП",
    "ЖКХ",
    "SSN",
    "VAT",
    "FAQ",
    "ISBN",
    "IMEI",
    "KPP",
    "INN",
    "OGRN",
    "SNILS",
    "TODO",
    "NOTE",
    "OK",
    "AI",
    "ИИ",
    "LLM",
    "GPT",
    "PhD",
    "CEO",
    "CFO",
    "CTO",
    "HR",
    "IT",
    "PR",
    "QA",
    "UTC",
    "GMT",
    "TTL",
    "EUR",
    "USD",
    "RUB",
    "РФ",
    "США",
];

/// More of them: of computers, of money and offices, of schools, of medicine, of law.
const NOT_EITHER: &str = "SLA SLO SPF DKIM DMARC SOC SIEM DLP MFA SSO CI CD DBA ORM MIME TLS SSL NAT DHCP \
    CRM ERP CMS SDK IDE REST RPC FTP SSD HDD BIOS UEFI GUI CLI OTP QR NFC GPS LED UPS DoS DDoS XSS CSRF RCE \
    CVE CWE WAF IDS IPS EDR LAN WAN IoT JWT UTF ASCII WAL ACL RBAC CAPTCHA GDPR PCI EULA NaN PIN2 SIM eSIM \
    EBITDA ROI KPI NPS NDA PO RFC RFP FYI ASAP ETA TBD EOD DIY VIP POS ATM CV CVs RSVP HOA \
    MRI CT ECG DNA RNA PCR BMI ADHD PTSD OCD HIV AIDS COVID ICU NICU GCSE MBA BSc MSc PE \
    NPC RPG MMO DLC PvP UFO GTA ERROR WARN WARNING INFO DEBUG FATAL TRACE STOP START GET POST PUT DELETE \
    ЕГЭ ОГЭ ГИА ВПР ФГОС ПДД КоАП УК ГК ТК НК СК УПК АПК ГПК ДСП НСД СКУД ИБ ПИН ЭЦП ЭП КЭП СУБД ИБП \
    МРТ КТ УЗИ ЭКГ ОРВИ ОРЗ ВИЧ ЭКО ДНК РНК ИМТ СДВГ ПТСР ЛПНП ЛПВП ЛФК БАД ДМС ОМС НДФЛ УСН ЕНВД МРОТ \
    ГОСТ ТУ ЛЭП НИОКР ЧП ЧС КБК ГПХ НЛО ВОВ ХХ ИМХО ЗП БД ТД ТП ООО ИП СТОП";

/// Tokens of organizations that their form gives away.
pub(crate) fn find(sentence: &Sentence) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < sentence.token_count() {
        let found = quoted(sentence, at)
            .map(|end| (at, end))
            .or_else(|| suffixed(sentence, at));
        match found {
            Some((first, last)) => {
                let floor = out.last().map_or(0, |(_, last)| *last);
                out.push((first.max(floor), last));
                at = last;
            }
            None => at += 1,
        }
    }
    out
}

/// Whether a find is none after all: an abbreviation of something else, or a domain.
pub(crate) fn is_none(find: &str) -> bool {
    let inner_dot = find.split_once('.').is_some_and(|(left, right)| {
        left.ends_with(char::is_alphanumeric) && right.starts_with(char::is_lowercase)
    });
    let mut words = find.split([' ', '/']);
    let is_label = find.contains(char::is_alphabetic)
        && words.all(|word| is_abbreviation(word) || !word.contains(char::is_alphabetic));
    is_label || inner_dot && !find.contains(' ')
}

fn is_abbreviation(word: &str) -> bool {
    static ALL: LazyLock<HashSet<&str, RandomState>> = LazyLock::new(|| {
        NOT.iter()
            .copied()
            .chain(NOT_EITHER.split_whitespace())
            .collect()
    });
    ALL.contains(word)
}

/// "ООО «Ромашка»", "компания «Север»", "АО Вектор".
fn quoted(sentence: &Sentence, at: usize) -> Option<usize> {
    let is_form = is_form(sentence.word(at));
    let is_kind = sentence.tokens[at].kind == Kind::Cyrillic
        && sentence.facts[at].entry.flags & COMPANY_KIND != 0;
    if !is_form && !is_kind {
        return None;
    }
    let open = sentence.word(at + 1);
    let close = match open {
        "«" => "»",
        "“" => "”",
        "„" => "“",
        "\"" => "\"",
        _ => {
            let named = is_form && sentence.is_capital(at + 1) && sentence.on_line(at + 1);
            return named.then_some(at + 2);
        }
    };
    let starts = sentence.is_capital(at + 2) || is_form;
    let end = (at + 3..at + 3 + LONGEST_QUOTED).find(|end| sentence.word(*end) == close)?;
    starts.then_some(end + 1)
}

/// "Acme Widgets Ltd", "Stark & Sons": capitalized words and what ends such a name.
fn suffixed(sentence: &Sentence, at: usize) -> Option<(usize, usize)> {
    if !is_suffix(sentence.word(at)) {
        return None;
    }
    let joins = |at: usize| matches!(sentence.word(at), "&" | "and");
    let is_word = |at: usize| sentence.is_capital(at) && sentence.kind(at) != Some(Kind::Cyrillic);
    let mut first = at;
    let needs_join = sentence.word(at) == "Sons" || sentence.word(at) == "Co";
    if needs_join && !(first > 0 && joins(first - 1)) && sentence.word(at) == "Sons" {
        return None;
    }
    while first > 0 && sentence.on_line(first) {
        let before = first - 1;
        let comma =
            sentence.word(before) == "," && first == at && before > 0 && is_word(before - 1);
        if is_word(before) {
            first -= 1;
        } else if (joins(before) || comma) && before > 0 && is_word(before - 1) {
            first -= 2;
        } else {
            break;
        }
    }
    if first == at {
        return None;
    }
    let dot = sentence.word(at + 1) == "." && sentence.tokens[at + 1].gap == Gap::Glued;
    let is_end = sentence.token_count() == at + 2;
    Some((first, at + 1 + usize::from(dot && !is_end)))
}

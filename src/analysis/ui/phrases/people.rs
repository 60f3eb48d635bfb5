//! The phrases of the pages of end users.

phrases! {
    people: "People", "Люди";
    people_hint: "End users named by calls, with their messages. Days are in UTC.",
        "Конечные пользователи из вызовов и их сообщения. Дни по UTC.";
    name_part: "Part of the name", "Часть имени";
    sort: "Sort by", "Сортировать по";
    by_flagged: "Flagged", "Нарушениям";
    by_share: "Share flagged", "Доле нарушений";
    by_messages: "Messages", "Сообщениям";
    by_last_seen: "Last seen", "Последнему сообщению";
    no_people: "No end user sent a message in this period.",
        "За этот период ни один пользователь не отправлял сообщений.";
    messages: "Messages", "Сообщения";
    flagged: "Flagged", "Нарушения";
    blocked: "Blocked", "Заблокировано";
    types: "Found", "Найдено";
    last_seen: "Last seen", "Последнее сообщение";
    last_days: "Last 30 days", "Последние 30 дней";
    before: "{} in the period before", "{} за период до этого";
    of_all: "{} of all", "{} от всех";
    highest_day: "Messages by day, {} at most", "Сообщения по дням, максимум {}";
    to_sessions: "Sessions", "Сессии";
    to_records: "Records", "Записи";
    by_day: "Messages by day", "Сообщения по дням";
    not_flagged: "not flagged", "без нарушений";
    day: "Day", "День";
    applications: "Applications", "Приложения";
    applications_hint: "Where this name was used in the same period. Different applications may use it for different people.",
        "Где это имя встречалось за тот же период. В разных приложениях это могут быть разные люди.";
    latest_sessions: "Latest sessions", "Последние сессии";
    no_sessions: "No sessions.", "Сессий нет.";
    nothing_found: "Nothing was found in this period.", "За этот период ничего не найдено.";
}

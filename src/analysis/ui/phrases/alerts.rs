//! The phrases of the page of alerts.

phrases! {
    alerts: "Alerts", "Оповещения";
    alerts_hint: "What the rules below found. Channels are told once, and again while it lasts.",
        "Что нашли правила ниже. Каналы оповещаются один раз и повторно, пока условие выполняется.";
    none: "No alerts yet.", "Оповещений пока нет.";
    what: "Alert", "Оповещение";
    found_count: "{count} messages ({verdict}) in {minutes} min, threshold {threshold}",
        "{count} сообщений ({verdict}) за {minutes} мин, порог {threshold}";
    found_share: "{count} of {total} messages ({verdict}) in {minutes} min, threshold {threshold}%",
        "{count} из {total} сообщений ({verdict}) за {minutes} мин, порог {threshold}%";
    found_first: "Seen for the first time in 30 days", "Впервые за 30 дней";
    found_silent: "A gateway has reported nothing for {minutes} min", "Шлюз ничего не сообщал {minutes} мин";
    found_budget: "{count}% of a budget is spent ({budget}), threshold {threshold}%",
        "Израсходовано {count}% бюджета ({budget}), порог {threshold}%";
    firing: "firing", "активно";
    closed: "closed", "закрыто";
    ended: "ended", "завершено";
    muted: "muted until", "без звука до";
    first: "First", "Впервые";
    last: "Last", "Последний раз";
    told: "Told", "Оповещены";
    nobody_told: "nobody", "никто";
    waiting: "waiting", "ожидает";
    sent: "sent", "отправлено";
    dead: "given up", "не доставлено";
    attempts: "attempts", "попыток";
    again: "Try again", "Повторить";
    close: "Close", "Закрыть";
    mute: "Mute for a day", "Без звука на день";
    unmute: "Unmute", "Включить звук";
    records: "Records", "Записи";
    older: "Older", "Более старые";
    rules: "Rules", "Правила";
    no_rules: "No rules yet: nothing fires.", "Правил пока нет: оповещений не будет.";
    new_rule: "New rule", "Новое правило";
    edit_rule: "Change the rule", "Изменить правило";
    edit: "Change", "Изменить";
    remove_rule_question: "Delete this rule? Its alerts end.", "Удалить правило? Его оповещения завершатся.";
    kind: "Kind", "Вид";
    kind_count: "count of messages", "число сообщений";
    kind_share: "share of messages", "доля сообщений";
    kind_first_time: "seen for the first time", "встретилось впервые";
    kind_gateway_silent: "silent gateway", "шлюз молчит";
    kind_budget: "spent budget", "расход бюджета";
    in_file: "configuration file", "файл конфигурации";
    verdict: "Verdict", "Вердикт";
    verdict_hint: "Of counts and shares. A share knows no “flagged”.",
        "Для числа и доли. У доли нет вердикта «flagged».";
    user: "User (optional)", "Пользователь (необязательно)";
    kind_of_find: "Type of finding (optional)", "Тип находки (необязательно)";
    only_application: "Only this application (optional)", "Только это приложение (необязательно)";
    window: "Window, minutes", "Окно, минут";
    window_hint: "Counts: 1 to 1440. Shares: whole hours up to 10080. Silent gateways: 5 to 1440.",
        "Число: от 1 до 1440. Доля: целые часы до 10080. Шлюз: от 5 до 1440.";
    threshold: "Threshold (messages, or % of a share or a budget)", "Порог (сообщений или % доли либо бюджета)";
    minimum: "Share: at least so many messages", "Доля: не менее стольких сообщений";
    repeat: "Tell again after, minutes", "Повторять через, минут";
    per_user: "An alert for each user", "Оповещение по каждому пользователю";
    include_user: "Messages name the user", "Называть пользователя в сообщениях";
    include_user_hint: "Names of users leave this server then.",
        "Имена пользователей тогда покидают этот сервер.";
    send_resolved: "Tell when it is over", "Сообщать о завершении";
    enabled: "In force", "Действует";
    disabled: "off", "выключено";
    channels: "Channels", "Каналы";
    no_channels: "No channels yet: nobody is told.", "Каналов пока нет: никто не оповещается.";
    new_channel: "New channel", "Новый канал";
    edit_channel: "Change the channel", "Изменить канал";
    remove_channel_question: "Delete this channel? Nobody is told there any more.",
        "Удалить канал? Оповещений туда больше не будет.";
    server: "Server", "Сервер";
    address: "Address (of Telegram: empty; of email: host:port)", "Адрес (для Telegram: пусто; для email: хост:порт)";
    secret: "Secret: key of signatures, token of the bot, or password", "Секрет: ключ подписи, токен бота или пароль";
    chat: "Telegram: id of the chat", "Telegram: идентификатор чата";
    mail_user: "Email: user", "Email: пользователь";
    mail_from: "Email: sender", "Email: отправитель";
    mail_to: "Email: recipients, with commas", "Email: получатели через запятую";
    mail_tls: "Email: encryption", "Email: шифрование";
    mail_hint: "“none” is for addresses that the configuration allows (alerts.allow_networks, alerts.allow_hosts).",
        "«none» только для адресов, разрешённых в конфигурации (alerts.allow_networks, alerts.allow_hosts).";
    kept_hint: "Address and secret are not shown again. Left empty, they stay; another server needs the secret again.",
        "Адрес и секрет больше не показываются. Пустые поля оставляют прежние; для другого сервера секрет нужно ввести снова.";
    test: "Send a test", "Отправить тест";
    test_sent: "The test was sent to", "Тест отправлен:";
    test_failed: "The test was not sent:", "Тест не отправлен:";
}

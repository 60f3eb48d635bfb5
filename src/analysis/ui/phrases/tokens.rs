//! The phrases of the pages of access tokens.

phrases! {
    tokens: "Access tokens", "Токены доступа";
    tokens_hint: "Programs authenticate with these tokens: gateways, message senders, record readers. Newest first.",
        "По этим токенам получают доступ программы: шлюзы, отправители сообщений, читатели записей. Сначала новые.";
    add: "New token", "Новый токен";
    name_example: "gateway 1", "шлюз 1";
    only_application: "Only this application (optional)", "Только это приложение (необязательно)";
    scopes: "Scopes", "Права";
    ingest_hint: "Send messages for analysis. A gateway needs nothing else.",
        "Отправлять сообщения на анализ. Шлюзу достаточно этого права.";
    read_hint: "Read records, sessions and files.", "Читать записи, сессии и файлы.";
    read_cleaned_hint: "Read records and sessions without original texts and files.",
        "Читать записи и сессии без исходных текстов и файлов.";
    triage_hint: "Decide about findings: confirm them, mark false alarms.", "Разбирать срабатывания: подтверждать их и отмечать ложные.";
    admin_hint: "Change applications, rules and tokens.", "Менять приложения, правила и токены.";
    ends: "Expires", "Истекает";
    in_days: "in", "через";
    days: "days", "дн.";
    own_day: "on a day of your choice", "в выбранный день";
    last_day: "Last day (UTC)", "Последний день (UTC)";
    never: "never", "никогда";
    make: "Create token", "Создать токен";
    made: "Value of the token", "Значение токена";
    made_hint: "Shown only once. Store it where your program keeps its secrets. A lost token cannot be recovered: create a new one.",
        "Показывается только один раз. Сохраните его там, где программа хранит секреты. Потерянный токен не восстановить: создайте новый.";
    bound_to: "Tokens of the application", "Токены приложения";
    all_tokens: "All tokens", "Все токены";
    any_application: "any", "любое";
    last_use: "Last used", "Последнее использование";
    not_used: "never used", "не использовался";
    valid: "valid", "действует";
    expired: "expired", "истёк";
    revoked: "revoked", "отозван";
    revoke: "Revoke", "Отозвать";
    revoke_question: "Revoke this token for good? Programs that use it are rejected from now on:",
        "Отозвать токен навсегда? Программы с этим токеном сразу начнут получать отказ:";
    is_revoked: "Revoked:", "Отозван:";
}

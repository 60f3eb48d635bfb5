//! The part of the table that speaks of access tokens.

phrases! {
    tokens: "Access tokens", "Токены доступа";
    tokens_hint: "What programs sign in with: the gateway, senders of messages, readers of records. Newest first.",
        "Чем входят программы: шлюз, отправители сообщений, читатели записей. Сначала новые.";
    add: "New token", "Новый токен";
    name_example: "gateway 1", "шлюз 1";
    only_application: "Only this application (optional)", "Только это приложение (необязательно)";
    scopes: "Scopes", "Права";
    ingest_hint: "Send messages for analysis. All that a gateway needs.",
        "Отправлять сообщения на проверку. Шлюзу больше не нужно.";
    read_hint: "Read records, sessions and files.", "Читать записи, сессии и файлы.";
    admin_hint: "Change applications, rules and tokens.", "Менять приложения, правила и токены.";
    ends: "Ends", "Заканчивается";
    in_days: "in", "через";
    days: "days", "дн.";
    own_day: "on a day of your choice", "в выбранный день";
    last_day: "Last day (UTC)", "Последний день (UTC)";
    never: "never", "никогда";
    make: "Make the token", "Создать токен";
    made: "The value of", "Значение токена";
    made_hint: "Shown this once: keep it where your program reads its secrets. Lost ones are replaced by new ones.",
        "Показано только сейчас: сохраните его там, откуда программа берёт секреты. Вместо потерянного создают новый.";
    bound_to: "Tokens of the application", "Токены приложения";
    all_tokens: "All tokens", "Все токены";
    any_application: "any", "любое";
    last_use: "Last use", "Последнее обращение";
    not_used: "not yet", "ещё не было";
    valid: "valid", "действует";
    expired: "expired", "истёк";
    revoked: "revoked", "отозван";
    revoke: "Revoke", "Отозвать";
    revoke_question: "Revoke for good? Programs that use it are refused from now on:",
        "Отозвать навсегда? Программы с этим токеном сразу получат отказ:";
    is_revoked: "Revoked:", "Отозван:";
}

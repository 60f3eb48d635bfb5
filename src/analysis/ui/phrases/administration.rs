//! The phrases of what administrators do beside editing: the file and the details of the audit log, rotating a token,
//! erasing a user, explaining a verdict, replaying records.
//!
//! A phrase with `|` has a form for each kind of number, see `counted`.

phrases! {
    // Audit log
    audit_file: "Save the filtered log as CSV", "Сохранить отфильтрованный журнал в CSV";
    version_from: "from version", "с версии";
    version_to: "to version", "на версию";
    changed_fields: "changed", "изменено";
    expires_at: "expires", "истекает";
    new_token: "new token", "новый токен";
    old_expires_at: "old token expires", "прежний токен истекает";
    records: "records", "записей";
    attachments: "files", "файлов";
    incomplete: "begun, not complete", "начато, не завершено";
    role: "role", "роль";
    disabled: "disabled", "отключена";
    link_ends_at: "link valid until", "ссылка действует до";
    client_address: "client address", "адрес клиента";
    file_format: "format", "формат";
    with_originals: "with originals", "с исходными текстами";
    filter_user: "user", "пользователь";
    filter_session: "session", "сессия";
    filter_text: "text", "текст";
    filter_verdict: "verdict", "вердикт";
    filter_type: "type", "тип";
    filter_from: "from", "с";
    filter_to: "until", "до";
    first_at: "first", "первый";
    last_at: "last", "последний";
    yes: "yes", "да";
    no: "no", "нет";

    // Tokens
    rotate: "Rotate", "Сменить";
    rotate_token: "Rotate a token", "Смена токена";
    rotate_hint: "Creates a new token with the same name, scopes, application and expiry. Its value is shown once. The old value stays valid for as long as you choose here, so that programs can be changed over.",
        "Создаёт новый токен с тем же именем, правами, приложением и сроком. Его значение показывается один раз. Прежнее значение действует ещё столько, сколько вы выберете, чтобы успеть перенастроить программы.";
    old_valid_for: "Old value stays valid for", "Прежнее значение действует ещё";
    grace_none: "no time: it ends at once", "нисколько: прекращает действовать сразу";
    grace_hour: "1 hour", "1 час";
    grace_day: "24 hours", "24 часа";
    grace_week: "7 days", "7 дней";
    not_rotated: "Not rotated:", "Не сменён:";

    // Erasing a user
    erase: "Erase a user", "Удалить данные пользователя";
    erase_hint: "Deletes all records of an end user with their texts and files, for good. Later records of this user are not stored any more. Statistics stay. The audit log has an entry.",
        "Безвозвратно удаляет все записи конечного пользователя с текстами и файлами. Новые записи этого пользователя больше не сохраняются. Статистика остаётся. Удаление отмечается в журнале действий.";
    erase_user: "User, exactly as in the records", "Пользователь, в точности как в записях";
    erase_confirm: "Type the user again to confirm", "Введите пользователя ещё раз для подтверждения";
    erase_now: "Erase for good", "Удалить безвозвратно";
    erase_wrong: "is not the same user as above", "не совпадает с пользователем выше";
    not_erased: "Nothing was erased:", "Ничего не удалено:";
    erased: "Erased: {} record|Erased: {} records", "Удалена {} запись|Удалены {} записи|Удалено {} записей";
    erased_files: "{} file|{} files", "{} файл|{} файла|{} файлов";
    tombstone: "Identifier of the erasure, for the audit log", "Идентификатор удаления для журнала действий";

    // Explaining a verdict
    explain: "Explain", "Пояснить";
    explanation: "What each check saw", "Что увидела каждая проверка";
    explanation_hint: "The text of Try it out, checked by the rules that were in the form. Nothing was stored, and no judge was asked.",
        "Текст из проверки, проверенный по правилам из формы. Ничего не записано, судью не спрашивали.";
    check: "Check", "Проверка";
    setting: "Setting", "Настройка";
    saw: "Saw", "Увидела";
    took: "Time", "Время";
    check_on: "on", "вкл.";
    check_off: "off", "выкл.";
    blocks: "blocks", "блокирует";
    saw_findings: "{} finding|{} findings", "{} находка|{} находки|{} находок";
    saw_nothing: "nothing", "ничего";
    saw_flagged: "{} over its threshold", "{} выше порога";
    saw_highest: "nothing over its threshold; highest score {}", "ничего выше порога; наибольшая оценка {}";
    policies_written: "{} policy|{} policies", "{} политика|{} политики|{} политик";
    not_asked: "not asked here", "здесь не спрашивается";
    saw_tokens: "{} token|{} tokens", "{} токен|{} токена|{} токенов";
    place: "Characters", "Символы";
    found_type: "Type", "Тип";
    only_first: "Only the first {} are listed.", "Показаны только первые {}.";

    // The form of an application
    sections: "Sections of this form", "Разделы формы";
    blocks_these: "Blocks {}", "Блокирует: {}";
    blocks_nothing: "Blocks nothing", "Ничего не блокирует";
    only_observes: "Only observes", "Только наблюдает";
    has_no_policy: "Has no policy", "Политики нет";
    guardrails_on: "guardrails {} of {}", "защитные правила {} из {}";
    checks_nothing: "nothing is checked", "ничего не проверяется";
    all_patterns: "all patterns", "все шаблоны";
    some_patterns: "{} pattern|{} patterns", "{} шаблон|{} шаблона|{} шаблонов";
    keeps_originals: "keeps originals", "хранит исходные тексты";
    keeps_cleaned: "keeps cleaned texts only", "хранит только очищенные тексты";
    for_days: "for {} day|for {} days", "{} день|{} дня|{} дней";
    presets: "All thresholds:", "Все пороги:";
    preset_strict: "Strict", "Строго";
    preset_balanced: "Balanced", "Взвешенно";
    preset_careful: "Careful", "Осторожно";
    presets_hint: "Strict finds more and has more false alarms; careful flags only what is beyond doubt. This fills the form and saves nothing.",
        "«Строго» находит больше, но чаще ошибается; «Осторожно» отмечает только несомненное. Форма заполняется, ничего не сохраняется.";
    preset_filled: "The thresholds are filled in. Nothing is saved yet: check them, then save.",
        "Пороги заполнены. Пока ничего не сохранено: проверьте и сохраните.";
    next_send: "Next: send a request →", "Дальше: отправить запрос →";

    // Replay
    replay_from: "From (UTC)", "С (UTC)";
    replay_to: "Until (UTC)", "По (UTC)";
    replay_none: "There are no records in this period.", "За этот период записей нет.";
    replay_same: "The verdict of {} record does not change.|None of {} verdicts changes.",
        "Вердикт {} записи не изменится.|Ни один из {} вердиктов не изменится.|Ни один из {} вердиктов не изменится.";
    replay_changes: "{} of {} verdicts changes: {} no longer found, {} new|{} of {} verdicts change: {} no longer found, {} new",
        "Изменится {} вердикт из {}: больше не найдено {}, найдено впервые {}|Изменятся {} вердикта из {}: больше не найдено {}, найдено впервые {}|Изменятся {} вердиктов из {}: больше не найдено {}, найдено впервые {}";
    replay_otherwise: "{} otherwise", "иначе {}";
    no_longer_found: "{} is no longer found", "{}: больше не находится";
    newly_found: "{} is newly found", "{}: находится впервые";
    found_less: "{} is found less often", "{}: находится реже";
    found_more: "{} is found more often", "{}: находится чаще";
    no_longer_flags: "{}: no longer flagged", "{}: больше не срабатывает";
    newly_flags: "{}: newly flagged", "{}: срабатывает впервые";
    no_longer_blocked: "No longer blocked", "Больше не блокируется";
    newly_blocked: "Newly blocked", "Блокируется впервые";
    other_severity: "Another severity of the number of tokens", "Другой уровень по числу токенов";
    changed_records: "{} record|{} records", "{} запись|{} записи|{} записей";
    and_more: "and {} more", "и ещё {}";
}

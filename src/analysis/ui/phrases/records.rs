//! The phrases of the pages of records and sessions.

phrases! {
    records: "Records", "Записи";
    records_hint: "All checked exchanges and tool calls, newest first.",
        "Все проверенные обмены и вызовы инструментов, сначала новые.";
    time: "Time", "Время";
    kind: "Kind", "Тип";
    application: "Application", "Приложение";
    user: "User", "Пользователь";
    session: "Session", "Сессия";
    said: "What was said", "Что сказано";
    verdict: "Verdict", "Вердикт";
    removed_application: "deleted", "удалено";

    // Filters
    any: "Any", "Любой";
    any_kind: "Prompts and answers", "Запросы и ответы";
    only_prompts: "Prompts", "Запросы";
    only_answers: "Answers", "Ответы";
    search_text: "Search in texts", "Поиск по тексту";
    by_value: "Search by value", "Поиск по значению";
    by_value_hint: "Finds the records in which this value was found, however it is written. Values are stored as hashes only, and the audit log has an entry of the search without the value.",
        "Находит записи, в которых было это значение, как бы оно ни было написано. Значения хранятся только в виде хешей; в журнале действий остаётся запись о поиске без значения.";
    value: "Value", "Значение";
    any_value_type: "Any built-in type", "Любой встроенный тип";
    name_or_id: "Name or identifier", "Имя или идентификатор";
    suggested: "Applications found: {}", "Найдено приложений: {}";
    suggested_some: "First {} applications shown; type more of the name",
        "Показано приложений: {}; уточните имя";
    find_type: "Finding type", "Тип находки";
    with_tool_calls: "With tool calls only", "Только с вызовами инструментов";
    from: "From (UTC)", "С (UTC)";
    until: "Until (UTC)", "По (UTC)";
    more_filters: "More filters", "Ещё фильтры";
    flagged: "Flagged", "С нарушениями";
    clean: "Clean", "Без нарушений";
    unchecked: "Passed unchecked", "Пропущенные без проверки";
    blocked: "Blocked", "Заблокированные";
    failed: "Failed exchanges", "Вызовы со сбоем";
    wrong_filter: "Invalid filter:", "Неверный фильтр:";
    unknown_type: "no finding has the type", "нет находок типа";
    users_meant: "No record names exactly this user. Users whose names contain it:",
        "Записей ровно этого пользователя нет. Пользователи, в именах которых это есть:";
    types_meant: "Did you mean", "Возможно, вы имели в виду";
    types_are_named: "The field suggests the built-in types; custom patterns have their own names.",
        "Встроенные типы подсказывает поле; у своих шаблонов свои имена.";
    unknown_application: "no application has this name", "приложения с таким именем нет";
    ambiguous_application: "several applications have this name: enter the identifier",
        "приложений с таким именем несколько: укажите идентификатор";
    older: "Older", "Более старые";
    newest: "Newest", "К новым";
    searched_in_part: "A search examines a limited number of records per page. There are older records: continue the search.",
        "На каждой странице поиск просматривает ограниченное число записей. Есть более старые: продолжите поиск.";
    search_older: "Search older records", "Искать в более старых";
    searched_back: "Records searched: {}, back to", "Просмотрено записей: {}, вплоть до";
    searched_all: "Searched all records of this filter: {}.", "Просмотрены все записи этого фильтра: {}.";
    stop_search: "Stop", "Остановить";
    search_stopped: "Stopped.", "Остановлено.";
    search_broke: "The search was interrupted.", "Поиск прервался.";
    export: "Export", "Экспорт";
    export_begins: "Starting the export…", "Экспорт начинается…";
    export_going: "Records so far: {} ({})", "Записей: {} ({})";
    export_saved: "Records saved: {}", "Сохранено записей: {}";
    export_cancel: "Cancel", "Отменить";
    export_cancelled: "Canceled. Nothing was saved.", "Отменено. Ничего не сохранено.";
    export_left: "This export is large, so the browser saves it directly.",
        "Объём большой, поэтому файл сохраняет сам браузер.";
    export_broke: "The export was interrupted. Nothing was saved.", "Экспорт прервался. Ничего не сохранено.";
    export_csv: "Export these records as CSV", "Экспортировать эти записи в CSV";
    export_jsonl: "Export these records as JSON Lines", "Экспортировать эти записи в JSON Lines";

    // Cost
    cost: "Cost", "Стоимость";
    model: "Model", "Модель";
    cost_estimated: "estimated", "оценка";
    cost_unpriced: "not known", "неизвестна";
    cost_repeated: "stored response, not counted again", "сохранённый ответ, повторно не учтён";
    call_tokens: "Tokens of the call", "Токены вызова";
    prompt_tokens: "prompt", "запрос";
    cached_tokens: "of it from the cache", "из них из кэша";
    cache_write_tokens: "of it to the cache", "из них в кэш";
    completion_tokens: "answer", "ответ";
    reasoning_tokens: "of it reasoning", "из них рассуждения";
    tokens_estimated: "counted in the recorded texts: the model server reported none",
        "подсчитаны по записанным текстам: сервер модели их не сообщил";

    // Live
    live: "Live", "Автообновление";
    live_paused: "Paused", "Приостановлено";
    live_over: "Live updates have stopped.", "Автообновление остановлено.";

    // Verdicts
    was_blocked: "blocked", "заблокировано";
    was_failed: "failed", "сбой";
    by_guardrails: "guardrails", "защитные правила";
    by_custom_policy: "custom policy", "пользовательская политика";
    was_incomplete: "incomplete", "не завершено";
    was_clean: "clean", "без нарушений";
    was_unchecked: "passed unchecked", "пропущено без проверки";
    was_unchecked_hint: "There was no verdict in time, or only a part of one, and the policy lets such calls pass.",
        "Вердикта вовремя не было или он был неполным, а политика пропускает такие вызовы.";
    analysis_partial: "partly checked", "проверено частично";
    analysis_failed: "not checked", "не проверено";
    nothing_flagged: "Nothing flagged.", "Нарушений нет.";

    // One record
    texts: "Texts", "Тексты";
    original: "Original", "Исходный";
    cleaned: "Cleaned", "Очищенный";
    original_not_kept: "This application does not store original texts.",
        "Исходные тексты этого приложения не хранятся.";
    reveal: "Reveal", "Показать";
    reveal_hint: "Findings are masked. Reading originals is recorded in the audit log.",
        "Находки скрыты. Просмотр исходных текстов записывается в журнал действий.";
    revealed: "Originals are shown this once; the audit log has an entry of each.",
        "Исходные тексты показаны один раз, в журнале действий есть записи.";
    mask_again: "Mask again", "Скрыть снова";
    original_not_yours: "Your role reads cleaned texts only.", "Ваша роль видит только очищенные тексты.";
    name_hidden: "name hidden", "имя скрыто";
    text_hidden: "Nothing was cleaned: the text is shown once the original is revealed.",
        "Очищенного текста нет: текст виден, если показать исходный.";
    no_text: "No text.", "Текста нет.";
    text_cut: "Only the beginning is shown; the JSON file has the whole text.",
        "Показано только начало; весь текст в файле JSON.";
    save_json: "Save as JSON", "Сохранить JSON";
    verdicts: "Verdicts", "Вердикты";
    category: "Category", "Категория";
    score: "Score / threshold", "Оценка / порог";
    policy: "Policy", "Политика";
    reason: "Reason", "Обоснование";
    violated: "violated", "нарушена";
    kept_to: "not violated", "соблюдена";
    over_threshold: "over threshold", "выше порога";
    no_scores: "No category scores above 0.", "Все категории получили оценку 0.";
    not_checked: "Failed checks", "Невыполненные проверки";
    warnings: "Warnings", "Предупреждения";
    details: "Details", "Подробности";
    rules: "Rules", "Правила";
    rules_version: "version", "версия";
    rules_inline: "sent with the request", "переданы с запросом";
    exchange: "Exchange", "Вызов";
    record_id: "Record", "Запись";
    newer_record: "Newer", "Новее";
    older_record: "Older", "Старее";
    no_answer: "No answer recorded.", "Ответ не записан.";
    got_phrase: "The client got the prepared phrase", "Клиент получил заготовленную фразу";
    phrase_unknown: "The policy of that time is not known any more.", "Политика того времени уже не известна.";
    provider: "Provider", "Провайдер";
    http_status: "HTTP status", "Статус HTTP";
    latency: "Latency", "Время ответа";
    first_byte: "Time to first byte", "Время до первого байта";
    access_key: "Access key", "Ключ доступа";
    client_address: "Client address", "Адрес клиента";
    usage: "Usage", "Объём";
    timings: "Time taken", "Время обработки";
    timing_total: "whole analysis", "весь анализ";
    timing_dataclean: "sensitive data", "чувствительные данные";
    timing_tokens: "tokens", "токены";
    error: "The exchange failed", "Вызов завершился сбоем";
    error_kind: "Type", "Тип";
    error_code: "Status", "Статус";
    closed_by: "Closed by", "Соединение закрыл";
    closed_by_client: "the client", "клиент";
    closed_by_upstream: "the model server", "сервер модели";
    closed_by_gateway: "the gateway", "шлюз";
    attachments: "Attachments", "Вложения";
    file: "File", "Файл";
    size: "Size", "Размер";
    save_file: "Save", "Сохранить";
    not_kept: "not stored", "не хранится";
    finds: "Findings", "Находки";
    scanned_whole: "scanned whole", "проверен целиком";
    scanned_part: "scanned in part", "проверен частично";
    scanned_no: "not scanned", "не проверялся";
    scanned_failed: "scan failed", "ошибка проверки";
    parameters: "Parameters of the request", "Параметры запроса";
    tool: "Tool", "Инструмент";
    tool_call: "Tool call", "Вызов инструмента";
    tool_calls: "Tools called in this exchange", "Инструменты, вызванные в этом обмене";
    tool_arguments: "Tool arguments", "Аргументы инструмента";
    tool_result: "Tool result", "Результат инструмента";
    calls_of_tools: "Calls of tools", "Вызовы инструментов";
    results_of_tools: "Results of tools", "Результаты инструментов";
    more_parts: "{} more are in the JSON file of the record.", "Ещё {}: в файле JSON этой записи.";
    part_cut: "only the beginning", "только начало";
    part_not_kept: "No text: it is not stored, or it was not checked and is shown with the original only.",
        "Текста нет: он не хранится либо не проверен и виден только вместе с исходным.";
    part_exempt: "not checked, by policy", "не проверяется по политике";
    same_prompt: "The same prompt, with results of tools.", "Тот же запрос, с результатами инструментов.";
    part: "Part", "Часть";
    text: "Text", "Текст";

    same_values: "The same values in other records", "Те же значения в других записях";
    other_records: "Other records", "Других записей";
    their_users: "Users", "Пользователей";
    show_same: "Show", "Показать";

    // Sessions
    sessions: "Sessions", "Сессии";
    sessions_hint: "Exchanges grouped by the client's session, latest first.",
        "Обмены, сгруппированные по сессиям клиентов, сначала последние.";
    flagged_sessions: "With violations only", "Только с нарушениями";
    messages: "Messages", "Сообщений";
    flagged_messages: "Flagged", "С нарушениями";
    last_message: "Latest message", "Последнее сообщение";
    earlier: "Earlier messages", "Более ранние";
    latest_messages: "Latest messages", "Последние сообщения";
    as_list: "As a list", "Списком";
    saved_filters: "Saved filters", "Сохранённые фильтры";
    save_filter: "Save this filter", "Сохранить этот фильтр";
    share_filter: "Share with people who see the same applications",
        "Показывать тем, кому доступны те же приложения";
    shared: "shared", "общий";
    shared_by: "Shared by", "Владелец:";
    remove_filter_question: "Delete the saved filter", "Удалить сохранённый фильтр";
    whole_record: "Open the record", "Открыть запись";
}

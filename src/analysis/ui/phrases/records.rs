//! The part of the table that speaks of records and sessions.

phrases! {
    records: "Records", "Записи";
    records_hint: "Every checked prompt and answer, newest first. Times are UTC.",
        "Каждый проверенный запрос и ответ, сначала новые. Время по UTC.";
    time: "Time", "Время";
    kind: "Kind", "Вид";
    application: "Application", "Приложение";
    user: "User", "Пользователь";
    session: "Session", "Сессия";
    verdict: "Verdict", "Вердикт";
    removed_application: "removed", "удалено";

    // Filters
    any: "Any", "Любой";
    any_kind: "Prompts and answers", "Запросы и ответы";
    only_prompts: "Prompts", "Запросы";
    only_answers: "Answers", "Ответы";
    search_text: "Search texts", "Поиск по текстам";
    name_or_id: "Name or identifier", "Имя или идентификатор";
    suggested: "Applications found: {}", "Найдено приложений: {}";
    suggested_some: "The first {} applications; type more of the name", "Первые приложения, {}; наберите имя подробнее";
    find_type: "Type of find", "Тип находки";
    from: "From (UTC)", "С (UTC)";
    until: "Before (UTC)", "До (UTC)";
    more_filters: "More filters", "Ещё фильтры";
    flagged: "Flagged", "С нарушением";
    clean: "Clean", "Чистые";
    blocked: "Blocked", "Заблокированные";
    failed: "Failed exchanges", "Сбои обмена";
    wrong_filter: "This filter does not work:", "Такой фильтр не сработает:";
    unknown_application: "no application has this name", "приложения с таким именем нет";
    ambiguous_application: "several applications have this name: give the identifier",
        "приложений с таким именем несколько: укажите идентификатор";
    older: "Older", "Старее";
    newest: "Newest", "К новым";
    searched_in_part: "Each page searches a bounded number of records. There are older ones: go on searching.",
        "Каждая страница просматривает ограниченное число записей. Есть более старые: продолжайте поиск.";
    search_older: "Search older ones", "Искать в более старых";
    searched_back: "Records looked at: {}, back to", "Просмотрено записей: {}, до";
    searched_all: "All records of this filter were looked at: {}.", "Просмотрены все записи этого фильтра: {}.";
    stop_search: "Stop", "Остановить";
    search_stopped: "Stopped.", "Остановлено.";
    search_broke: "The search broke off. Reload the page.", "Поиск прервался. Перезагрузите страницу.";
    export: "Export", "Выгрузка";
    export_begins: "The export begins…", "Выгрузка начинается…";
    export_going: "Records so far: {} ({})", "Записей пока: {} ({})";
    export_saved: "Records saved: {}", "Сохранено записей: {}";
    export_cancel: "Cancel", "Отменить";
    export_cancelled: "Cancelled. Nothing was saved.", "Отменено. Ничего не сохранено.";
    export_left: "This export is large: the browser saves it by itself.", "Выгрузка большая: браузер сохраняет её сам.";
    export_broke: "The export broke off. Nothing was saved.", "Выгрузка прервалась. Ничего не сохранено.";
    export_csv: "Export these records as CSV", "Выгрузить эти записи в CSV";
    export_jsonl: "Export these records as JSON lines", "Выгрузить эти записи в JSONL";

    // Live
    live: "Live", "Онлайн";
    live_paused: "Paused", "Пауза";
    live_over: "Live updates have ended. Reload the page.", "Обновления закончились. Перезагрузите страницу.";

    // Verdicts
    was_blocked: "blocked", "заблокировано";
    was_failed: "failed", "сбой";
    by_guardrails: "guardrails", "защитные правила";
    by_custom_policy: "custom_policy", "своя политика";
    was_incomplete: "incomplete", "неполный";
    was_clean: "clean", "чисто";
    analysis_partial: "checked in part", "проверено частично";
    analysis_failed: "not checked", "не проверено";
    nothing_flagged: "Nothing flagged.", "Нарушений нет.";

    // One record
    texts: "Texts", "Тексты";
    original: "Original", "Исходный";
    cleaned: "Cleaned", "Очищенный";
    original_not_kept: "The application does not keep originals.", "Приложение не хранит исходные тексты.";
    no_text: "No text.", "Текста нет.";
    text_cut: "Only the beginning is shown; the whole text is in the JSON file.",
        "Показано только начало; весь текст в файле JSON.";
    save_json: "Save as JSON", "Сохранить JSON";
    verdicts: "Verdicts", "Вердикты";
    category: "Category", "Категория";
    score: "Score / threshold", "Оценка / порог";
    policy: "Policy", "Политика";
    reason: "Reason", "Обоснование";
    violated: "violated", "нарушена";
    kept_to: "kept to", "соблюдена";
    over_threshold: "over its threshold", "выше порога";
    not_checked: "Failed checks", "Несостоявшиеся проверки";
    warnings: "Warnings", "Предупреждения";
    details: "Details", "Подробности";
    rules: "Rules", "Правила";
    rules_version: "version", "версия";
    rules_inline: "came with the request", "пришли с запросом";
    exchange: "Exchange", "Обмен";
    record_id: "Record", "Запись";
    usage: "Usage", "Объём";
    timings: "Time taken", "Затрачено";
    timing_total: "whole analysis", "вся проверка";
    timing_dataclean: "sensitive data", "чувствительные данные";
    timing_tokens: "tokens", "токены";
    error: "The exchange failed", "Обмен не удался";
    error_kind: "Kind", "Вид";
    error_code: "Status", "Статус";
    closed_by: "Closed by", "Кто закрыл";
    closed_by_client: "the client", "клиент";
    closed_by_upstream: "the model's server", "сервер модели";
    closed_by_gateway: "the gateway", "шлюз";
    attachments: "Attachments", "Вложения";
    file: "File", "Файл";
    size: "Size", "Размер";
    save_file: "Save", "Сохранить";
    not_kept: "not kept", "не хранится";
    finds: "Finds", "Находки";
    scanned_whole: "read whole", "прочитан весь";
    scanned_part: "read in part", "прочитан частично";
    scanned_no: "not read", "не читался";
    scanned_failed: "check failed", "проверка не удалась";
    parameters: "Parameters of the request", "Параметры запроса";

    // Sessions
    sessions: "Sessions", "Сессии";
    sessions_hint: "Exchanges that clients put together, the latest first.",
        "Обмены, объединённые клиентами, сначала последние.";
    messages: "Messages", "Сообщений";
    flagged_messages: "Flagged", "С нарушением";
    last_message: "Latest message", "Последнее сообщение";
    earlier: "Earlier messages", "Более ранние";
    latest_messages: "Latest messages", "Последние сообщения";
    as_list: "As a list", "Списком";
    saved_filters: "Saved filters", "Сохранённые фильтры";
    save_filter: "Save this filter", "Сохранить этот фильтр";
    share_filter: "Others of the tenant see it too", "Видят и другие люди этого клиента";
    shared: "shared", "общий";
    shared_by: "Shared by", "Поделился";
    remove_filter_question: "Delete the saved filter", "Удалить сохранённый фильтр";
    whole_record: "Whole record", "Вся запись";
}

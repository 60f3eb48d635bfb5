//! The part of the table that speaks of the overview, of status, of the audit log and of the first steps.

phrases! {
    // Overview
    overview: "Overview", "Обзор";
    overview_hint: "What came in and what was found. Times are UTC.",
        "Что пришло и что найдено. Время по UTC.";
    period: "Period", "Период";
    last_day: "24 hours", "24 часа";
    last_week: "7 days", "7 дней";
    last_month: "30 days", "30 дней";
    all_applications: "All applications", "Все приложения";
    show: "Show", "Показать";
    messages: "Messages", "Сообщения";
    prompts_and_answers: "prompts {} · answers {}", "запросов {} · ответов {}";
    blocked: "Blocked", "Заблокировано";
    of_messages: "{} of all messages", "{} всех сообщений";
    failed: "Failed exchanges", "Сбои обмена";
    with_sensitive_data: "With sensitive data", "С чувствительными данными";
    analysis_time: "Analysis time", "Время проверки";
    longest: "longest {}", "наибольшее {}";
    per_message: "{} per message", "{} на сообщение";
    mean: "mean", "среднее";
    traffic: "Traffic", "Трафик";
    blocked_and_failed: "Blocked and failed", "Блокировки и сбои";
    flagged_by_check: "Flagged, by check", "Нарушения по проверкам";
    tokens_over_time: "Tokens", "Токены";
    mean_analysis_time: "Analysis time, mean", "Время проверки, среднее";
    finds_by_type: "Finds by type", "Находки по типам";
    other_finds: "applications' own patterns", "шаблоны приложений";
    nothing_found_then: "Nothing was found in this period.", "За это время ничего не найдено.";
    as_table: "As a table", "Таблицей";
    time: "Time", "Время";
    no_traffic: "Nothing came in this period.", "За это время ничего не пришло.";
    to_first_steps: "How to send the first request", "Как отправить первый запрос";

    // Health and gaps
    health: "Health", "Состояние";
    details: "Details", "Подробности";
    store: "Store", "Хранилище";
    answers: "answers", "отвечает";
    answers_not: "does not answer", "не отвечает";
    not_configured: "not configured", "не настроено";
    judge: "Judge of custom policies", "Судья своих политик";
    presidio: "Presidio analyzer", "Анализатор Presidio";
    guard: "Guard model", "Модель-охранник";
    gateways: "Gateways", "Шлюзы";
    no_gateways: "No gateway has registered anything yet.", "Шлюзы ещё ничего не регистрировали.";
    chain: "Are records missing?", "Все ли записи на месте?";
    chain_hint: "Each gateway numbers what it registers; a number without its record is a gap.",
        "Каждый шлюз нумерует то, что регистрирует; номер без записи — это пробел.";
    chain_loading: "Looking…", "Проверяем…";
    chain_check: "Check now", "Проверить";
    chain_none: "No gateway has numbered records here yet.", "Пронумерованных записей пока нет.";
    chain_complete: "nothing is missing", "всё на месте";
    chain_gaps: "gaps", "есть пробелы";
    chain_open: "cut off", "обрыв";
    chain_checked: "Checked", "Проверено";
    chain_missing: "Missing", "Нет записей";
    chain_vanished: "Taken out of the database", "Изъяты из базы";
    chain_interrupted: "Perhaps never given out (the gateway was cut off)",
        "Возможно, не выданы (работа шлюза прервалась)";
    chain_broken: "Links that do not fit", "Не сходятся связи";
    chain_repeats: "Numbers that came twice", "Повторы номеров";
    chain_more: "and {} more", "и ещё {}";
    gateway: "Gateway", "Шлюз";
    records_count: "Records", "Записей";

    // Status
    status: "Status", "Статус";
    status_hint: "This server, what it asks, and the gateways that register here.",
        "Этот сервер, кого он спрашивает, и шлюзы, которые здесь регистрируют.";
    server: "This server", "Этот сервер";
    version: "Version", "Версия";
    running_for: "Running for", "Работает";
    schema: "Schema version", "Версия схемы";
    size: "Size", "Размер";
    files: "Attached files", "Файлы";
    folder: "folder", "папка";
    bucket: "bucket", "бакет";
    keeps: "Records are kept", "Записи хранятся";
    days: "{} days", "{} дн.";
    rows: "{} records", "{} записей";
    no_bound: "without a bound", "без предела";
    stages: "Checks offered", "Проверки";
    on: "on", "вкл.";
    off: "off", "выкл.";
    asked_servers: "Servers that are asked", "Запрашиваемые серверы";
    cues_only: "none; custom policies are looked for by their own words",
        "нет; свои политики ищутся по их собственным словам";
    calls_under_way: "Calls under way", "Идёт вызовов";
    calls_waiting: "waiting", "ждёт";
    verdicts_remembered: "Verdicts remembered", "Запомнено вердиктов";
    tagger: "ONNX model", "Модель ONNX";
    gateways_hint: "What a gateway says of its spool with the records it sends to this server. A gateway that sends none is silent here, whatever its state.",
        "Что шлюз сообщает о своей очереди вместе с записями на этот сервер. Шлюз, который ничего не шлёт, здесь молчит, что бы с ним ни было.";
    beside: "in this process", "в этом процессе";
    latest_record: "Latest record", "Последняя запись";
    numbers: "Numbers", "Номера";
    waiting_records: "Waiting in the spool", "Ждут в очереди";
    oldest: "oldest {}", "старейшая {}";
    dead_letters: "Refused for good", "Отвергнуто";
    spool_disk: "Spool's disk", "Диск очереди";
    disk_works: "works", "работает";
    disk_refuses: "refuses", "отказывает";
    heard: "ReceivedReport", "Сообщено";
    own_overhead: "Adds to a call", "Добавляет к вызову";
    own_overhead_hint: "On average since its start, without the model server and the analysis.", "В среднем с его запуска, без сервера модели и анализа.";
    ago: "{} ago", "{} назад";
    now: "now", "сейчас";
    unknown: "not known", "неизвестно";

    // Audit
    audit: "Audit log", "Журнал действий";
    audit_hint: "Who changed what, newest first. Times are UTC. Texts, passwords and tokens are never in it.",
        "Кто что изменил, сначала новое. Время по UTC. Текстов, паролей и токенов здесь нет.";
    person: "Person or token", "Человек или токен";
    action: "Action", "Действие";
    any_action: "Any", "Любое";
    target: "What", "Над чем";
    by_key: "token", "токен";
    nobody: "unknown name", "неизвестное имя";
    show_change: "what changed", "что изменилось";
    older_lines: "Older", "Старее";
    newest_lines: "Newest", "К новым";
    application_create: "made an application", "создал приложение";
    application_change: "changed an application", "изменил приложение";
    application_restore: "restored a version", "восстановил версию";
    application_remove: "removed an application", "удалил приложение";
    token_create: "made a token", "создал токен";
    token_change: "changed a token", "изменил токен";
    token_rotate: "rotated a token", "заменил токен";
    token_revoke: "revoked a token", "отозвал токен";
    records_erase: "erased a user's records", "стёр записи пользователя";
    account_create: "made an account", "создал учётную запись";
    account_change: "changed an account", "изменил учётную запись";
    account_link: "made a one-time link", "создал одноразовую ссылку";
    account_password: "set a password", "задал пароль";
    account_sign_in: "signed in", "вошёл";
    account_sign_in_failed: "failed to sign in", "не смог войти";
    nobody_known: "nobody known here", "неизвестный здесь";
    reason: "reason", "причина";
    unknown_name: "no account has this name", "такой учётной записи нет";
    wrong_password: "wrong password", "неверный пароль";
    account_disabled: "the account is disabled", "учётная запись отключена";
    provider_unreachable: "the identity provider cannot be reached", "провайдер входа недоступен";
    provider_answer: "the identity provider's answer is not usable", "ответ провайдера входа негоден";
    provider_refused: "the identity provider refused this server", "провайдер входа отказал этому серверу";
    denied_at_provider: "not signed in at the identity provider", "вход у провайдера не состоялся";
    token_refused: "the identity provider's token is not taken", "токен провайдера не принят";
    not_begun_here: "begun in another browser, too long ago, or over already",
        "вход начат в другом браузере, слишком давно или уже завершён";
    other_domain: "no verified address of a domain that is let in", "нет подтверждённого адреса разрешённого домена";
    no_account: "no account, and no role to make one with", "нет учётной записи и роли, чтобы её создать";
    name_taken: "the name belongs to another account", "имя принадлежит другой учётной записи";

    // First steps
    first_steps: "First steps", "Первые шаги";
    first_steps_hint: "From here to a request of yours that is blocked and seen under Records: four steps.",
        "Отсюда до вашего запроса, заблокированного и видного в записях: четыре шага.";
    step_key: "Get an access key", "Получите ключ доступа";
    step_key_hint: "A client sends it beside its model server's own key. It is shown once and listed under Access tokens.",
        "Клиент передаёт его рядом с ключом сервера модели. Показывается один раз, в списке стоит среди токенов доступа.";
    make_key: "Make an access key", "Создать ключ доступа";
    made_key: "Your access key, shown this once:", "Ваш ключ доступа, показан только сейчас:";
    ask_for_key: "Ask an administrator or a developer for an access key and put it in the place of YOUR_ACCESS_KEY.",
        "Попросите ключ доступа у администратора или разработчика и подставьте его вместо YOUR_ACCESS_KEY.";
    step_block: "Have the application block", "Включите блокировку";
    step_block_done: "blocks: its mode is synchronous.", "блокирует: режим синхронный.";
    step_block_hint: "only watches so far. Open it, choose Synchronous, write the phrase that users read, and save.",
        "пока только наблюдает. Откройте его, выберите «Синхронный», впишите фразу для пользователей и сохраните.";
    open_application: "Open the application", "Открыть приложение";
    step_send: "Send a request", "Отправьте запрос";
    step_send_hint: "The card number in it is made up; a synchronous application answers with its phrase and the model is not called.",
        "Номер карты в нём вымышленный; синхронное приложение ответит своей фразой, и модель не будет вызвана.";
    step_see: "See it here", "Увидьте его здесь";
    waiting_for_first: "Waiting for the first record… It appears here by itself.",
        "Ждём первую запись… Она появится здесь сама.";
    has_arrived: "The latest records of this application, newest first:",
        "Последние записи этого приложения, сначала новые:";
    not_yours_to_read: "Records are shown to analysts and administrators.",
        "Записи показываются аналитикам и администраторам.";
    no_application: "There is no application yet.", "Приложений пока нет.";
    choose: "Choose", "Выбрать";
    gateway_address: "Gateway", "Шлюз";
    address_guessed: "The address is a guess: this server does not know where clients reach the gateway. Set ui.gateway_url in its configuration.",
        "Адрес предположительный: сервер не знает, где клиенты находят шлюз. Задайте ui.gateway_url в его настройках.";
    model_key_hint: "YOUR_MODEL_KEY and YOUR_MODEL are your model server's own.",
        "YOUR_MODEL_KEY и YOUR_MODEL — ключ и модель вашего сервера модели.";
}

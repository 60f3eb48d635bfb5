//! The phrases of the overview, the status page, the audit log and the first steps.

phrases! {
    // Overview
    overview: "Overview", "Обзор";
    overview_hint: "Traffic and findings. Charts and days are in UTC.", "Трафик и результаты проверок. Графики и дни по UTC.";
    period: "Period", "Период";
    last_day: "24 hours", "24 часа";
    last_week: "7 days", "7 дней";
    last_month: "30 days", "30 дней";
    period_before: "period before", "период до этого";
    than_before: "{} against the period before", "{} к периоду до этого";
    all_applications: "All applications", "Все приложения";
    show: "Show", "Показать";
    messages: "Messages", "Сообщения";
    prompts_and_answers: "prompts {} · answers {}", "запросов {} · ответов {}";
    blocked: "Blocked", "Заблокировано";
    of_messages: "{} of all messages", "{} от всех сообщений";
    failed: "Failed exchanges", "Вызовы со сбоем";
    passed_unchecked: "Passed unchecked", "Пропущено без проверки";
    no_judge_for: "No judge is configured: custom policies are only matched by their keywords, and synchronous calls pass unchecked. This concerns:",
        "Судья не настроен: пользовательские политики проверяются только по ключевым словам, а синхронные вызовы проходят без проверки. Это касается приложений:";
    with_sensitive_data: "With sensitive data", "С чувствительными данными";
    analysis_time: "Analysis time", "Время анализа";
    longest: "maximum {}", "максимум {}";
    per_message: "{} per message", "{} на сообщение";
    mean: "mean", "среднее";
    traffic: "Traffic", "Трафик";
    blocked_and_failed: "Blocked and failed", "Блокировки и сбои";
    flagged_by_check: "Flagged by check", "Нарушения по видам проверок";
    tokens_over_time: "Tokens", "Токены";
    mean_analysis_time: "Mean analysis time", "Среднее время анализа";
    finds_by_type: "Findings by type", "Находки по типам";
    other_finds: "custom patterns", "пользовательские шаблоны";
    nothing_found_then: "Nothing was found in this period.", "За этот период ничего не найдено.";
    as_table: "Show as a table", "Показать таблицей";
    time: "Time", "Время";
    no_traffic: "No traffic in this period.", "За этот период трафика не было.";
    to_people: "Who was flagged most in this period", "У кого больше всего срабатываний за этот период";
    to_first_steps: "How to send the first request", "Как отправить первый запрос";

    // Health and gaps
    health: "Health", "Состояние";
    details: "Details", "Подробности";
    store: "Store", "Хранилище";
    answers: "responding", "отвечает";
    answers_not: "not responding", "не отвечает";
    store_away: "The store ({}) is not responding. Without it nobody's sign-in can be checked, so the rest of this page is not shown until it responds.",
        "Хранилище ({}) не отвечает. Без него нельзя проверить вход, поэтому остальная часть страницы появится, когда оно ответит.";
    not_configured: "not configured", "не настроено";
    judge: "Custom policy judge", "Судья пользовательских политик";
    presidio: "Presidio analyzer", "Анализатор Presidio";
    guard: "Guard model", "Защитная модель";
    gateways: "Gateways", "Шлюзы";
    no_gateways: "No gateway has reported yet.", "Ни один шлюз ещё не присылал данных.";
    chain: "Missing records", "Пропуски в записях";
    chain_hint: "Each gateway numbers its records. A number without a record is a gap.",
        "Каждый шлюз нумерует свои записи. Номер без записи означает пропуск.";
    chain_loading: "Checking…", "Проверка…";
    chain_check: "Check now", "Проверить";
    chain_none: "No gateway has sent numbered records yet.", "Пронумерованных записей пока нет.";
    chain_complete: "no gaps", "пропусков нет";
    chain_gaps: "gaps", "есть пропуски";
    chain_open: "interrupted", "есть обрыв";
    chain_checked: "Checked", "Проверено";
    chain_missing: "Missing", "Отсутствуют";
    chain_vanished: "Deleted from the database", "Удалены из базы";
    chain_interrupted: "Possibly never assigned (the gateway was interrupted)",
        "Возможно, не выданы (работа шлюза прервалась)";
    chain_broken: "Broken links", "Нарушенные связи";
    chain_repeats: "Duplicate numbers", "Повторяющиеся номера";
    chain_more: "and {} more", "и ещё {}";
    gateway: "Gateway", "Шлюз";
    records_count: "Records", "Записей";

    // Status
    status: "Status", "Статус";
    status_hint: "This server, the services it calls, and the gateways that report to it.",
        "Этот сервер, сервисы, к которым он обращается, и шлюзы, которые передают ему данные.";
    server: "This server", "Этот сервер";
    version: "Version", "Версия";
    running_for: "Uptime", "Время работы";
    schema: "Schema version", "Версия схемы";
    size: "Size", "Размер";
    files: "Attached files", "Файлы";
    folder: "folder", "папка";
    bucket: "bucket", "бакет";
    keeps: "Retention", "Хранение записей";
    days: "{} days", "{} дн.";
    rows: "{} records", "{} записей";
    no_bound: "unlimited", "без ограничений";
    stages: "Checks", "Проверки";
    on: "on", "вкл.";
    off: "off", "выкл.";
    asked_servers: "External services", "Внешние сервисы";
    cues_only: "none; custom policies are matched by keywords",
        "нет; пользовательские политики проверяются по ключевым словам";
    calls_under_way: "Calls in progress", "Выполняется вызовов";
    calls_waiting: "waiting", "в ожидании";
    verdicts_remembered: "Cached verdicts", "Вердиктов в кеше";
    tagger: "ONNX model", "Модель ONNX";
    siem: "Events for other systems (SIEM)", "События для внешних систем (SIEM)";
    siem_works: "working", "работает";
    siem_fails: "failing", "сбой";
    siem_waiting: "waiting: {}", "в очереди: {}";
    gateways_hint: "Each gateway reports the state of its spool along with its records. A gateway that sends no records reports nothing, whatever its state.",
        "Шлюз сообщает о состоянии своей очереди вместе с записями. Шлюз, который не отправляет записей, ничего не сообщает, в каком бы состоянии он ни был.";
    beside: "in this process", "в этом процессе";
    latest_record: "Latest record", "Последняя запись";
    numbers: "Last number", "Последний номер";
    waiting_records: "Records in the spool", "Записей в очереди";
    oldest: "oldest {}", "старейшая {}";
    dead_letters: "Dead letters", "Отклонённые";
    spool_disk: "Spool disk", "Диск очереди";
    disk_works: "working", "работает";
    disk_refuses: "failing", "сбой диска";
    heard: "Last report", "Последний отчёт";
    own_overhead: "Added latency", "Задержка шлюза";
    own_overhead_hint: "On average since the gateway started, without the model server and the analysis.",
        "В среднем с запуска шлюза, без сервера модели и анализа.";
    ago: "{} ago", "{} назад";
    now: "now", "сейчас";
    unknown: "unknown", "неизвестно";

    // Audit
    audit: "Audit log", "Журнал действий";
    audit_hint: "Who changed what and who read originals, newest first. Texts, passwords and tokens are never logged.",
        "Кто и что изменил и кто читал исходные тексты, сначала новые. Тексты, пароли и токены сюда не попадают.";
    person: "Person or token", "Пользователь или токен";
    action: "Action", "Действие";
    any_action: "Any", "Любое";
    target: "Target", "Объект";
    by_key: "token", "токен";
    nobody: "unknown name", "неизвестное имя";
    show_change: "what changed", "что изменилось";
    older_lines: "Older", "Более старые";
    newest_lines: "Newest", "К новым";
    application_create: "created an application", "создание приложения";
    application_change: "changed an application", "изменение приложения";
    application_restore: "restored a version", "восстановление версии";
    application_remove: "deleted an application", "удаление приложения";
    token_create: "created a token", "создание токена";
    token_change: "changed a token", "изменение токена";
    token_rotate: "rotated a token", "замена токена";
    token_revoke: "revoked a token", "отзыв токена";
    records_erase: "erased a user's records", "удаление записей пользователя";
    records_readmit: "let an erased user's records be stored again", "разрешение снова хранить записи пользователя";
    finding_triage: "decided about a finding", "решение о срабатывании";
    findings_triage: "decided about many findings", "решение о многих срабатываниях";
    findings_export: "exported an evaluation set", "выгрузка набора для оценки";
    record_read_original: "read the original of a record", "просмотр исходного текста записи";
    records_export: "exported records", "экспорт записей";
    records_find_value: "looked for a value", "поиск по значению";
    attachment_download: "downloaded an attachment", "скачивание вложения";
    account_create: "created an account", "создание учётной записи";
    account_change: "changed an account", "изменение учётной записи";
    account_link: "created a one-time link", "создание одноразовой ссылки";
    account_password: "set a password", "установка пароля";
    account_sign_in: "signed in", "вход";
    account_sign_in_failed: "failed to sign in", "неудачный вход";
    account_end_sign_ins: "ended sign-ins", "завершение сеансов";
    account_second_factor_on: "turned a second factor on", "включение второго фактора";
    account_second_factor_off: "turned a second factor off", "отключение второго фактора";
    account_recovery_code: "used a recovery code", "вход по резервному коду";
    value_key_rotate: "made a new key of found values", "новый ключ найденных значений";
    alert_rule_set: "set an alert rule", "изменение правила оповещений";
    alert_rule_remove: "deleted an alert rule", "удаление правила оповещений";
    alert_channel_set: "set an alert channel", "изменение канала оповещений";
    alert_channel_remove: "deleted an alert channel", "удаление канала оповещений";
    alert_close: "closed an alert", "закрытие оповещения";
    alert_mute: "muted an alert", "отключение звука оповещения";
    alert_retry: "sent an alert again", "повторная отправка оповещения";
    nobody_known: "unknown person", "неизвестный пользователь";
    reason: "reason", "причина";
    unknown_name: "no account has this name", "такой учётной записи нет";
    wrong_password: "wrong password", "неверный пароль";
    wrong_code: "wrong code", "неверный код";
    account_disabled: "the account is disabled", "учётная запись отключена";
    provider_unreachable: "the identity provider cannot be reached", "провайдер идентификации недоступен";
    provider_answer: "the identity provider's answer is unusable",
        "ответ провайдера идентификации непригоден";
    provider_refused: "the identity provider refused this server",
        "провайдер идентификации отказал этому серверу";
    denied_at_provider: "sign-in at the identity provider failed",
        "вход у провайдера идентификации не выполнен";
    token_refused: "the identity provider's token was rejected", "токен провайдера идентификации отклонён";
    not_begun_here: "started in another browser, too long ago, or already finished",
        "вход начат в другом браузере, слишком давно или уже завершён";
    other_domain: "no verified address in an allowed domain",
        "нет подтверждённого адреса в разрешённом домене";
    no_account: "no account, and no role to create one with", "нет учётной записи и роли для её создания";
    name_taken: "the name belongs to another account", "имя принадлежит другой учётной записи";

    // First steps
    first_steps: "First steps", "Первые шаги";
    step_is_done: "done", "готово";
    block_now: "Block sensitive data in “{}”", "Блокировать чувствительные данные в «{}»";
    usual_phrase: "Your message contains data that must not be sent. Remove it and try again.",
        "В сообщении есть данные, которые нельзя отправлять. Удалите их и повторите.";
    send_now: "Send it from here", "Отправить отсюда";
    send_now_hint: "Sends the request below to the gateway of this process, with an access key that expires after five minutes.",
        "Отправляет приведённый ниже запрос шлюзу этого процесса с ключом доступа, который истекает через пять минут.";
    sent_answer: "The gateway answered with status {}:", "Шлюз ответил со статусом {}:";
    sent_unanswered: "The gateway did not answer. See the log of the server.", "Шлюз не ответил. Подробности в журнале сервера.";
    demo_hint: "No real model is attached: the built-in demo model demo-small answers, and needs no key.",
        "Настоящая модель не подключена: отвечает встроенная демонстрационная модель demo-small, ключ ей не нужен.";
    first_steps_hint: "Four steps to your first blocked request, shown under Records.",
        "Четыре шага до первого заблокированного запроса в разделе «Записи».";
    step_key: "Get an access key", "Получите ключ доступа";
    step_key_hint: "Clients send it in addition to the model server's own key. It is shown once and listed under Access tokens.",
        "Клиент передаёт его вместе с ключом сервера модели. Ключ показывается один раз и есть в списке «Токены доступа».";
    make_key: "Create an access key", "Создать ключ доступа";
    made_key: "Your access key, shown only once:", "Ваш ключ доступа, показывается только один раз:";
    ask_for_key: "Ask an administrator or a developer for an access key and replace YOUR_ACCESS_KEY with it.",
        "Попросите ключ доступа у администратора или разработчика и подставьте его вместо YOUR_ACCESS_KEY.";
    step_block: "Turn on blocking", "Включите блокировку";
    step_block_done: "blocks: its mode is synchronous.", "блокирует запросы: режим синхронный.";
    step_block_hint: "only observes so far. Open it, choose Synchronous, enter the phrase for users, and save.",
        "пока только наблюдает. Откройте приложение, выберите «Синхронный», введите фразу для пользователей и сохраните.";
    open_application: "Open the application", "Открыть приложение";
    step_send: "Send a request", "Отправьте запрос";
    step_send_hint: "The card number in the request is made up. A synchronous application answers with its phrase and does not call the model.",
        "Номер карты в запросе вымышленный. В синхронном режиме шлюз ответит заданной фразой, не вызывая модель.";
    step_see: "See the result here", "Посмотрите результат";
    waiting_for_first: "Waiting for the first record… It appears here automatically.",
        "Ожидание первой записи… Она появится автоматически.";
    has_arrived: "The latest records of this application, newest first:",
        "Последние записи этого приложения, сначала новые:";
    not_yours_to_read: "Only analysts, reviewers and administrators can see records.",
        "Записи доступны только аналитикам, наблюдателям и администраторам.";
    no_application: "There is no application yet.", "Приложений пока нет.";
    choose: "Choose", "Выбрать";
    gateway_address: "Gateway", "Шлюз";
    address_guessed: "This address is a guess: the server does not know where clients reach the gateway. Set ui.gateway_url in its configuration.",
        "Адрес предположительный: сервер не знает, по какому адресу клиенты обращаются к шлюзу. Задайте ui.gateway_url в конфигурации.";
    model_key_hint: "Replace YOUR_MODEL_KEY and YOUR_MODEL with the key and model of your model server.",
        "Замените YOUR_MODEL_KEY и YOUR_MODEL на ключ и модель своего сервера модели.";
}

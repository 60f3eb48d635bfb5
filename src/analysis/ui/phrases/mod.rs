//! THE table of the pages' phrases in every language: a phrase that lacks one does not compile.
//! Names of the specification (patterns, modes, roles of messages) are not translated.

macro_rules! phrases {
    ($($name:ident: $english:literal, $russian:literal;)+) => {
        /// The phrases of one language.
        pub(crate) struct Phrases {
            $(pub(crate) $name: &'static str),+
        }

        pub(crate) static EN: Phrases = Phrases { $($name: $english),+ };
        pub(crate) static RU: Phrases = Phrases { $($name: $russian),+ };
    };
}

mod administration;
mod alerts;
mod costs;
mod findings;
mod guardrails;
mod keys;
mod overview;
mod people;
mod plurals;
mod problems;
mod records;
mod sign_ins;
mod tokens;
mod units;

pub(crate) use administration::{
    EN as ADMINISTRATION_EN, Phrases as AdministrationPhrases, RU as ADMINISTRATION_RU,
};
pub(crate) use alerts::{EN as ALERTS_EN, Phrases as AlertPhrases, RU as ALERTS_RU};
pub(crate) use costs::{EN as COSTS_EN, Phrases as CostPhrases, RU as COSTS_RU};
pub(crate) use findings::{EN as FINDINGS_EN, Phrases as FindingPhrases, RU as FINDINGS_RU};
pub(crate) use guardrails::{
    EN as GUARDRAILS_EN, Phrases as GuardrailPhrases, RU as GUARDRAILS_RU,
};
pub(crate) use keys::{EN as KEYS_EN, Phrases as KeyPhrases, RU as KEYS_RU};
pub(crate) use overview::{EN as OVERVIEW_EN, Phrases as OverviewPhrases, RU as OVERVIEW_RU};
pub(crate) use people::{EN as PEOPLE_EN, Phrases as PeoplePhrases, RU as PEOPLE_RU};
pub(crate) use plurals::counted;
pub(crate) use records::{EN as RECORDS_EN, Phrases as RecordPhrases, RU as RECORDS_RU};
pub(crate) use sign_ins::{EN as SIGN_INS_EN, Phrases as SignInPhrases, RU as SIGN_INS_RU};
pub(crate) use tokens::{EN as TOKENS_EN, Phrases as TokenPhrases, RU as TOKENS_RU};
pub(crate) use units::{EN as UNITS_EN, Phrases as UnitPhrases, RU as UNITS_RU};

use crate::analysis::ApiError;
use crate::analysis::people::Role;
use std::borrow::Cow;

impl Phrases {
    /// A message of the services about a field or a refusal, in this language.
    pub(crate) fn tell<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let told = match std::ptr::eq(self, &RU) {
            true => problems::russian(text),
            false => None,
        };
        told.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// A role's name.
    pub(crate) fn role_name(&self, role: Role) -> &'static str {
        match role {
            Role::Administrator => self.administrator,
            Role::Analyst => self.analyst,
            Role::Reviewer => self.reviewer,
            Role::Developer => self.developer,
        }
    }

    /// A refusal as one text.
    pub(crate) fn tell_error(&self, error: &ApiError) -> String {
        let one = |field: &str, problem: &str| format!("{field}: {}", self.tell(problem));
        match error {
            ApiError::Field { field, problem } => one(field, problem),
            ApiError::Fields(list) => {
                let all: Vec<_> = list.iter().map(|p| one(&p.field, &p.problem)).collect();
                all.join("; ")
            }
            other => self.tell(&other.to_string()).into_owned(),
        }
    }
}

phrases! {
    // The frame
    skip: "Skip to content", "Перейти к содержимому";
    navigation: "Sections", "Разделы";
    language: "Language", "Язык";
    theme: "Theme", "Тема";
    light: "Light", "Светлая";
    dark: "Dark", "Тёмная";
    pages: "Pages", "Страницы";
    next_page: "Next page", "Следующая страница";
    first_page: "First page", "Первая страница";
    back: "Back", "Назад";
    back_to_start: "Go to the start page", "На главную";
    save: "Save", "Сохранить";
    saved: "Saved.", "Сохранено.";
    discard: "Discard changes", "Отменить изменения";
    copy: "Copy", "Копировать";
    search: "Search", "Найти";
    clear: "Clear", "Сбросить";
    nothing_found: "Nothing found.", "Ничего не найдено.";
    actions: "Actions", "Действия";
    name: "Name", "Имя";
    description: "Description", "Описание";
    state: "State", "Состояние";
    created: "Created", "Дата создания";
    changed: "Changed", "Изменено";
    text: "Text", "Текст";
    field: "Field", "Поле";
    remove: "Remove", "Удалить";
    more: "More settings", "Дополнительные настройки";
    settings: "Settings", "Настройки";
    unsaved: "You have unsaved changes.", "Есть несохранённые изменения.";

    // Refusals
    not_saved: "Not saved:", "Не сохранено:";
    not_removed: "Not deleted:", "Не удалено:";
    unreadable_policy: "The stored policy cannot be read:", "Не удаётся прочитать сохранённую политику:";
    not_yet: "The rules are not complete yet:", "Правила заполнены не полностью:";
    refused: "The request failed", "Не удалось выполнить запрос";
    forbidden: "Access denied", "Доступ запрещён";
    forbidden_hint: "Your role does not allow this. An administrator can change your role.",
        "Ваша роль этого не позволяет. Изменить роль может администратор.";
    not_found: "Not found", "Не найдено";
    not_found_hint: "There is nothing at this address, or you do not have access to it.",
        "По этому адресу ничего нет либо у вас нет к нему доступа.";
    stale_form: "This form is out of date", "Форма устарела";
    stale_form_hint: "You have signed in or out since the form was opened. Go back, reload the page and send the form again.",
        "После открытия формы вы вошли в систему или вышли из неё. Вернитесь назад, обновите страницу и отправьте форму снова.";
    too_large: "The form is too large", "Форма слишком большая";

    // Signing in
    sign_in: "Sign in", "Войти";
    sign_out: "Sign out", "Выйти";
    form_is_kept: "Your session had ended when you sent the form. Nothing is saved yet: sign in to get back what you entered.",
        "К моменту отправки формы сеанс закончился. Пока ничего не сохранено: войдите, и введённое вернётся.";
    form_was_not_sent: "Your session had ended, so nothing was changed. Sign in and repeat it.",
        "Сеанс закончился, поэтому ничего не изменено. Войдите и повторите.";
    form_is_back: "This is what you entered before your session ended. It is not saved yet: check it, then save.",
        "Это введено до окончания сеанса. Пока не сохранено: проверьте и сохраните.";
    form_is_over: "This form is no longer kept", "Эта форма уже не хранится";
    form_is_over_hint: "A form is kept for half an hour after it was sent, for the account that it was opened with. Nothing of it was saved.",
        "Форма хранится полчаса после отправки, для учётной записи, под которой её открыли. Из неё ничего не сохранено.";
    signed_out: "You are not signed in, or your session has ended.",
        "Вы не вошли в систему, или сеанс завершён.";
    password: "Password", "Пароль";
    wrong_password: "Wrong name or password.", "Неверное имя или пароль.";
    too_many_attempts: "Too many attempts. Try again in {} seconds.", "Слишком много попыток. Повторите через {} с.";
    no_account: "No account? Ask an administrator for a one-time link. The link for the first account is printed on the console where the server was started.",
        "Нет учётной записи? Попросите у администратора одноразовую ссылку. Ссылка для первой учётной записи выводится в консоль при запуске сервера.";
    sign_in_by: "Sign in with", "Войти через";
    another_server: "single sign-on", "единый вход";
    or_by_password: "or with a password", "или по паролю";
    oidc_failed: "Sign-in failed", "Не удалось войти";
    sign_in_again: "Back to sign-in", "Вернуться на страницу входа";
    signed_in: "You are signed in", "Вход выполнен";
    go_on: "Continue", "Продолжить";
    one_moment: "One moment…", "Подождите…";
    set_password: "Set a password", "Задайте пароль";
    set_password_for: "For the account", "Для учётной записи";
    set_and_enter: "Set password and sign in", "Задать пароль и войти";
    new_password: "New password", "Новый пароль";
    password_again: "Repeat the password", "Повторите пароль";
    password_hint: "At least 12 characters.", "Не менее 12 символов.";
    passwords_differ: "the passwords do not match", "пароли не совпадают";
    own_password: "Your password", "Ваш пароль";
    no_password: "You sign in with single sign-on and have no password here. To set one, ask an administrator for a one-time link.",
        "Вы входите через единый вход, и пароля в этой системе у вас нет. Чтобы задать его, попросите у администратора одноразовую ссылку.";
    old_password: "Current password", "Текущий пароль";
    wrong_old_password: "is not your current password", "не совпадает с текущим паролем";
    password_changed: "Password changed. Your other sessions have ended.",
        "Пароль изменён. Остальные ваши сеансы завершены.";
    link_over: "This link no longer works", "Ссылка больше не действует";
    link_over_hint: "The link has been used or has expired. Ask an administrator for a new one.",
        "Ссылка уже использована, или её срок истёк. Попросите администратора создать новую.";

    // Users
    users: "Users", "Пользователи";
    users_hint: "People who can sign in. Each sets a password through a one-time link.",
        "Пользователи, которые могут входить в систему. Пароль каждый задаёт сам по одноразовой ссылке.";
    add_user: "Add a user", "Добавить пользователя";
    role: "Role", "Роль";
    administrator: "Administrator", "Администратор";
    analyst: "Analyst", "Аналитик";
    reviewer: "Reviewer", "Наблюдатель";
    developer: "Developer", "Разработчик";
    roles_hint: "Administrators can do everything. Analysts read records. Reviewers read cleaned texts only. Developers manage applications and tokens but cannot read records.",
        "Администратор может всё. Аналитик читает записи. Наблюдатель видит только очищенные тексты. Разработчик управляет приложениями и токенами, но не может читать записи.";
    only_application: "Only this application (optional)", "Только это приложение (необязательно)";
    make_link: "Create a one-time link", "Создать одноразовую ссылку";
    new_link: "New link", "Новая ссылка";
    link_made: "One-time link for", "Одноразовая ссылка для";
    link_made_hint: "Shown only once. The link works once, within three days.",
        "Показывается только один раз. Ссылка одноразовая и действует три дня.";
    last_sign_in: "Last sign-in", "Последний вход";
    active: "active", "действует";
    invited: "invited", "нет пароля";
    disabled: "disabled", "доступ закрыт";
    disable: "Disable", "Закрыть доступ";
    enable: "Enable", "Открыть доступ";
    disable_question: "End all sessions and disable", "Завершить все сеансы и закрыть доступ:";

    // Applications
    applications: "Applications", "Приложения";
    new_application: "New application", "Новое приложение";
    search_names: "Search by name", "Поиск по имени";
    identifier: "Identifier", "Идентификатор";
    version: "Version", "Версия";
    versions: "Versions", "Версии";
    unreadable: "unreadable", "не читается";
    saved_live: "Saved. The rules are now in effect.", "Сохранено. Правила уже действуют.";
    general: "General", "Основное";
    gateway_policy: "Gateway policy", "Политика шлюза";
    mode: "Mode", "Режим";
    mode_sync: "Synchronous", "Синхронный";
    mode_sync_hint: "The gateway checks each prompt before it calls the model. It answers a blocked prompt with the phrase below.",
        "Шлюз проверяет каждый запрос до вызова модели. На заблокированный запрос он отвечает фразой ниже.";
    mode_async: "Asynchronous", "Асинхронный";
    mode_async_hint: "Calls are neither delayed nor blocked. They are checked and recorded in parallel.",
        "Вызовы не задерживаются и не блокируются. Они проверяются и записываются параллельно.";
    mode_none: "No policy", "Без политики";
    policy_in_file: "The policy of this application is in the configuration file (applications) and is changed there.", "Политика этого приложения задана в файле конфигурации (applications) и меняется там.";
    policy_in_file_short: "configuration file", "файл конфигурации";
    mode_none_hint: "The gateway treats calls as asynchronous.", "Шлюз обрабатывает вызовы как асинхронные.";
    mode_none_short: "none", "нет";
    phrase: "Phrase", "Фраза";
    phrase_hint: "The answer that a user receives when a prompt is blocked.",
        "Ответ, который получает пользователь, если запрос заблокирован.";
    blocks_on: "What blocks a prompt", "Что блокирует запрос";
    blocker_off: "No effect: this check is off for prompts, below.",
        "Не действует: эта проверка запросов ниже выключена.";
    blocker_without_policies: "No effect: no policy is written for prompts, below.",
        "Не действует: ниже нет политик для запросов.";
    sensitive_data: "Sensitive data", "Чувствительные данные";
    guardrails: "Guardrails", "Защитные правила";
    custom_policies: "Custom policies", "Пользовательские политики";
    backend_failure: "If the analysis is unavailable", "Если анализ недоступен";
    failure_open: "Let the call pass and mark it", "Пропустить вызов и пометить его";
    failure_closed: "Reject the call", "Отклонить вызов";
    checked_messages: "Checked messages", "Проверяемые сообщения";
    role_last_user: "Last user message", "Последнее сообщение пользователя";
    role_user_turn: "User messages since the last answer", "Сообщения пользователя после последнего ответа";
    role_all_user: "All user messages", "Все сообщения пользователя";
    role_system: "System messages", "Системные сообщения";
    role_assistant: "Assistant messages", "Сообщения ассистента";
    role_tool: "Tool results", "Результаты инструментов";
    replace_response: "Replace flagged answers", "Заменять ответы с нарушениями";
    replace_response_hint: "The answer is held until its own check is done.",
        "Ответ задерживается до завершения его проверки.";
    redact_upstream: "Redact findings before the model sees them", "Скрывать найденное от модели";
    redact_upstream_hint: "Changes the text that is forwarded.", "Изменяет пересылаемый текст.";
    stream_in_sync: "Streaming in synchronous mode", "Потоковые ответы в синхронном режиме";
    stream_off: "Send the whole answer at once, not as a stream", "Отдавать ответ целиком, не потоком";
    stream_hold_back: "Stream with a short delay for checking", "Передавать потоком с проверкой на лету";
    stream_replay: "Check the whole answer, then send it as a stream", "Проверить ответ целиком, затем передать потоком";
    stream_in_sync_hint: "Clients that ask for a stream show nothing when they get the whole answer at once. Most chat applications ask for one: choose one of the other two for them.",
        "Клиенты, которые запрашивают поток, ничего не показывают, если получают ответ целиком. Так работает большинство чатов: для них выберите один из двух других вариантов.";
    block_details: "A block answer says what was found", "О найденном ответ на заблокированный вызов сообщает";
    block_details_metadata: "in its metadata", "в поле metadata";
    block_details_header: "in the header X-Monitor-Replaced", "в заголовке X-Monitor-Replaced";
    block_details_hint: "The header is for clients that accept only texts in the metadata of an answer.",
        "Заголовок нужен клиентам, которые принимают в поле metadata только строки.";
    embeddings: "Texts of embeddings", "Тексты для эмбеддингов";
    embeddings_off: "Forward unread", "Пересылать, не читая";
    embeddings_record: "Record", "Записывать";
    embeddings_check: "Record, and refuse what is blocked", "Записывать и отклонять то, что блокируется";
    embeddings_hint: "An embedding has no answer to replace: a blocked call gets an error. Checking needs the synchronous mode.",
        "У эмбеддинга нет ответа, который можно заменить: заблокированный вызов получает ошибку. Для проверки нужен синхронный режим.";
    tool_arguments: "Arguments of tool calls", "Аргументы вызовов инструментов";
    tool_arguments_checked: "Check", "Проверять";
    tool_arguments_unchecked: "Do not check: names of tools only", "Не проверять: только названия инструментов";
    tool_arguments_hint: "Arguments that are not checked reach the client and its tools whatever they contain.",
        "Непроверенные аргументы доходят до клиента и его инструментов, что бы в них ни было.";
    local_patterns: "Patterns that the gateway itself checks", "Шаблоны, которые проверяет сам шлюз";
    local_patterns_hint: "Redaction and checked streaming use the gateway's own detection.",
        "Для скрытия данных и проверки на лету шлюз ищет сам.";
    local_usual: "Default set", "Набор по умолчанию";
    local_usual_hint: "Everything the gateway can find except dates, durations and amounts.",
        "Всё, что умеет находить шлюз, кроме дат, сроков и сумм.";
    limits: "Call limits", "Ограничения на вызовы";
    limits_hint: "A call over a limit gets status 429 with a Retry-After header; the model is not called. Each gateway counts separately. Leave empty for no limit.",
        "На вызов сверх ограничения шлюз отвечает кодом 429 с заголовком Retry-After; модель не вызывается. Каждый шлюз считает отдельно. Пустое поле: без ограничения.";
    limit_calls: "Calls", "Вызовов";
    limit_per: "per", "за";
    minute: "minute", "минуту";
    second: "second", "секунду";
    limit_burst: "Burst size", "Размер всплеска";
    limit_concurrent: "Concurrent calls", "Одновременных вызовов";
    prompts: "Prompts", "Запросы";
    answers: "Answers", "Ответы";
    prompt: "Prompt", "Запрос";
    answer: "Answer", "Ответ";
    sensitive_data_hint: "Find personal and business data, and clean the stored text.",
        "Находить персональные и коммерческие данные и очищать хранимый текст.";
    patterns: "Patterns", "Шаблоны";
    patterns_all: "All, including those of later versions", "Все, включая шаблоны будущих версий";
    patterns_all_hint: "Without the further patterns, which have to be ticked one by one under “Only these”.",
        "Без дополнительных шаблонов: их отмечают по одному в списке «Только эти».";
    patterns_chosen: "Only these:", "Только эти:";
    further_patterns: "Further patterns", "Дополнительные шаблоны";
    further_patterns_hint: "Bank, vehicle and policy numbers, wallets, keys and passwords: found only where ticked.",
        "Банковские реквизиты, номера машин и полисов, кошельки, ключи и пароли: ищутся только отмеченные.";
    custom_patterns: "Custom patterns", "Пользовательские шаблоны";
    add_pattern: "Add a pattern", "Добавить шаблон";
    regex: "Regular expression", "Регулярное выражение";
    allowed_patterns: "Allowed values", "Разрешённые значения";
    allowed_patterns_hint: "A finding is ignored if one of these expressions matches all of it.",
        "Находка не учитывается, если одно из этих выражений совпадает с ней целиком.";
    add_allowed: "Add an exception", "Добавить исключение";
    clean_type: "What to do with findings", "Что делать с найденным";
    masking: "Mask", "Маскировать";
    deletion: "Delete", "Удалять";
    detection: "Report only", "Только сообщать";
    mask_style: "Mask style", "Вид маски";
    guardrails_hint: "Detect attacks on the model and harmful requests.",
        "Обнаруживать атаки на модель и опасные запросы.";
    custom_policies_hint: "Rules written in your own words.", "Правила, описанные вашими словами.";
    no_judge: "No judge is configured: policies are only matched by their keywords, and synchronous calls pass unchecked, unless calls without a verdict are rejected.",
        "Судья не настроен: политики проверяются только по ключевым словам, а синхронные вызовы проходят без проверки, если вызовы без вердикта не отклоняются.";
    instruction: "Instruction", "Инструкция";
    add_policy: "Add a policy", "Добавить политику";
    token_thresholds: "Token thresholds", "Пороги по числу токенов";
    token_thresholds_hint: "Strictly ascending. Leave empty for none.",
        "Строго по возрастанию. Оставьте пустыми, если не нужны.";
    low: "Low", "Низкий";
    high: "High", "Высокий";
    critical: "Critical", "Критический";
    encoding: "Token encoding", "Кодировка токенов";
    keeping: "Storage", "Хранение";
    keep_original: "Also store the original text", "Хранить и исходный текст";
    keep_original_hint: "Stored beside the cleaned text, for those who may read records.",
        "Хранится рядом с очищенным, для тех, кто читает записи.";
    retention: "Retention", "Ограничения хранения";
    retention_hint: "Records over any of these limits are deleted, oldest first. Leave empty to use the limits of the whole store.",
        "Записи сверх любого из ограничений удаляются, начиная с самых старых. Пустое поле: как для всего хранилища.";
    days: "Days", "Дней";
    records_count: "Records", "Записей";
    bytes: "Bytes", "Байт";
    remove_application: "Delete this application", "Удалить приложение";
    remove_hint: "Its rules, versions, tokens and records are deleted for good, and so are the accounts of people who see only this application. If there are such accounts, only an administrator can delete the application.",
        "Правила, версии, токены и записи приложения удаляются безвозвратно, как и учётные записи пользователей, которым доступно только оно. Если такие учётные записи есть, удалить приложение может только администратор.";
    remove_type_name: "Type the application's name to confirm", "Введите имя приложения для подтверждения";
    remove_wrong_name: "is not the application's name", "не совпадает с именем приложения";

    // Trying out
    try_out: "Try it out", "Проверка";
    try_out_hint: "Uses the rules in the form, saved or not. Nothing is stored.",
        "Используются правила из формы, даже несохранённые. Ничего не записывается.";
    direction: "Direction", "Направление";
    try_placeholder: "Type or paste a text…", "Введите или вставьте текст…";
    try_it: "Try", "Проверить";
    would_block: "would be blocked", "будет заблокирован";
    would_pass: "would pass", "пройдёт";
    tokens: "Tokens", "Токены";
    found: "Found", "Найдено";
    cleaned_text: "Cleaned text", "Очищенный текст";
    policies_left_out: "Custom policies are tested separately, below.",
        "Пользовательские политики проверяются отдельно, ниже.";
    policy_tester: "Test the custom policies", "Проверить пользовательские политики";
    policy_tester_hint: "Asks the judge about the text above, by the policies in the form.",
        "Судья оценивает текст выше по политикам из формы.";
    ask_judge: "Ask the judge", "Спросить судью";
    no_policies: "The form has no policy for prompts yet.", "В форме пока нет политик для запросов.";
    no_text_tried: "Enter a text above first.", "Сначала введите текст выше.";
    regex_tester: "Test a regular expression", "Проверить регулярное выражение";
    matches: "Matches", "Совпадений";
    replay: "Stored records", "Сохранённые записи";
    replay_hint: "Which verdicts would change under the rules in the form?",
        "Какие вердикты изменятся по правилам из формы?";
    replay_now: "Check the latest 100", "Проверить последние 100";
    on_cleaned_text: "Checked on their cleaned text", "Проверены по очищенному тексту";
    without_text: "Without text", "Без текста";
    older_records: "Older records", "Более старые";

    // Versions and conflicts
    latest: "current", "действует";
    restore: "Restore", "Восстановить";
    restore_question: "Create a new version from version", "Создать новую версию из версии";
    first_version: "The first version.", "Первая версия.";
    before: "Before", "Было";
    after: "After", "Стало";
    differences: "Differences", "Отличия";
    no_differences: "No differences.", "Отличий нет.";
    weaker: "weakens protection", "ослабляет защиту";
    in_prompts: "{} in prompts", "{} в запросах";
    in_answers: "{} in answers", "{} в ответах";
    conflict: "Somebody else has saved this application.", "Это приложение уже сохранил кто-то другой.";
    conflict_hint: "Your changes are still in the form below. Saving again overwrites theirs.",
        "Ваши изменения остались в форме ниже. Повторное сохранение перезапишет чужие.";
    their_changes: "What they changed", "Что изменили другие";
    own_changes: "What saving again would change", "Что изменит повторное сохранение";
    theirs: "Theirs", "Их версия";
    yours: "Yours", "Ваша версия";
    take_theirs: "Discard my changes and show theirs", "Отбросить мои изменения и показать их версию";
}

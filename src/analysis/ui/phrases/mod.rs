//! THE table of what pages say, in every language: a phrase that one of them lacks does not compile.
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

mod guardrails;
mod overview;
mod problems;
mod records;
mod tokens;

pub(crate) use guardrails::{
    EN as GUARDRAILS_EN, Phrases as GuardrailPhrases, RU as GUARDRAILS_RU,
};
pub(crate) use overview::{EN as OVERVIEW_EN, Phrases as OverviewPhrases, RU as OVERVIEW_RU};
pub(crate) use records::{EN as RECORDS_EN, Phrases as RecordPhrases, RU as RECORDS_RU};
pub(crate) use tokens::{EN as TOKENS_EN, Phrases as TokenPhrases, RU as TOKENS_RU};

use crate::analysis::ApiError;
use monitor_store::Role;
use std::borrow::Cow;

impl Phrases {
    /// What the services says of a field or a refusal, in this language.
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
    skip: "Skip to content", "К содержимому";
    navigation: "Sections", "Разделы";
    language: "Language", "Язык";
    theme: "Theme", "Тема";
    light: "Light", "Светлая";
    dark: "Dark", "Тёмная";
    pages: "Pages", "Страницы";
    next_page: "Next page", "Дальше";
    first_page: "First page", "К началу";
    back: "Back", "Назад";
    back_to_start: "To the start page", "На главную";
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
    created: "Created", "Создан";
    changed: "Changed", "Изменено";
    text: "Text", "Текст";
    field: "Field", "Поле";
    remove: "Remove", "Удалить";
    more: "More settings", "Ещё настройки";
    settings: "Settings", "Настройки";
    unsaved: "There are unsaved changes.", "Есть несохранённые изменения.";

    // Refusals
    not_saved: "Not saved:", "Не сохранено:";
    not_removed: "Not removed:", "Не удалено:";
    unreadable_policy: "The policy in the store cannot be read:", "Политику из хранилища не удаётся прочитать:";
    not_yet: "The rules are not complete yet:", "Правила пока не готовы:";
    refused: "This did not work", "Не получилось";
    forbidden: "Not allowed", "Нет доступа";
    forbidden_hint: "Your role does not allow this. An administrator can change it.",
        "Ваша роль этого не позволяет. Её может изменить администратор.";
    not_found: "Not found", "Не найдено";
    not_found_hint: "There is nothing at this address, or it is not yours to see.",
        "По этому адресу ничего нет, или у вас нет к этому доступа.";
    stale_form: "This form is out of date", "Форма устарела";
    stale_form_hint: "You have signed in or out since it was opened. Go back, reload the page and send it again.",
        "С тех пор как она открыта, вы вошли или вышли. Вернитесь, обновите страницу и отправьте снова.";
    too_large: "The form is too large", "Форма слишком велика";

    // Signing in
    sign_in: "Sign in", "Вход";
    sign_out: "Sign out", "Выйти";
    signed_out: "You are not signed in, or no longer.", "Вы не вошли, или сеанс закончился.";
    password: "Password", "Пароль";
    wrong_password: "Name or password is wrong.", "Неверное имя или пароль.";
    too_many_attempts: "Too many attempts. Try again in {} seconds.", "Слишком много попыток. Повторите через {} с.";
    no_account: "No account? An administrator makes you a one-time link. The first one is printed where the server was started.",
        "Нет учётной записи? Администратор создаст одноразовую ссылку. Самая первая напечатана там, где запущен сервер.";
    sign_in_by: "Sign in by", "Войти через";
    another_server: "single sign-on", "единый вход";
    or_by_password: "or by password", "или по паролю";
    oidc_failed: "Signing in did not work", "Войти не удалось";
    sign_in_again: "Back to signing in", "Вернуться ко входу";
    signed_in: "You are signed in", "Вход выполнен";
    go_on: "Go on", "Продолжить";
    one_moment: "One moment…", "Секунду…";
    set_password: "Set a password", "Задайте пароль";
    set_password_for: "For the account", "Для учётной записи";
    set_and_enter: "Set and sign in", "Задать и войти";
    new_password: "New password", "Новый пароль";
    password_again: "Once more", "Ещё раз";
    password_hint: "At least 12 characters.", "Не меньше 12 символов.";
    passwords_differ: "the two passwords differ", "пароли не совпадают";
    own_password: "Your password", "Ваш пароль";
    no_password: "You sign in by single sign-on and have no password here. To set one, ask an administrator for a one-time link.",
        "Вы входите через единый вход, пароля здесь у вас нет. Чтобы задать его, попросите у администратора одноразовую ссылку.";
    old_password: "Current password", "Текущий пароль";
    wrong_old_password: "is not your current password", "это не ваш текущий пароль";
    password_changed: "The password is changed. Your other sign-ins have ended.",
        "Пароль изменён. Остальные ваши сеансы завершены.";
    link_over: "This link is over", "Ссылка больше не действует";
    link_over_hint: "It was used already, or its time is up. An administrator can make a new one.",
        "Она уже использована, или её срок вышел. Администратор может создать новую.";

    // Users
    users: "Users", "Пользователи";
    users_hint: "People who may sign in here. Each sets a password through a one-time link.",
        "Кто может входить сюда. Пароль каждый задаёт сам по одноразовой ссылке.";
    add_user: "Add a user", "Добавить пользователя";
    role: "Role", "Роль";
    administrator: "Administrator", "Администратор";
    analyst: "Analyst", "Аналитик";
    developer: "Developer", "Разработчик";
    roles_hint: "Administrators do everything. Analysts read records. Developers manage applications and tokens and read no records.",
        "Администратор может всё. Аналитик читает записи. Разработчик управляет приложениями и токенами, записей не читает.";
    only_application: "Only this application (optional)", "Только это приложение (необязательно)";
    make_link: "Make a one-time link", "Создать одноразовую ссылку";
    new_link: "New link", "Новая ссылка";
    link_made: "One-time link for", "Одноразовая ссылка для";
    link_made_hint: "Shown this once. It works once, within three days.",
        "Показана только сейчас. Работает один раз в течение трёх дней.";
    last_sign_in: "Last sign-in", "Последний вход";
    active: "active", "активен";
    invited: "invited", "приглашён";
    disabled: "disabled", "отключён";
    disable: "Disable", "Отключить";
    enable: "Enable", "Включить";
    disable_question: "End all sign-ins and disable", "Завершить все сеансы и отключить:";

    // Applications
    applications: "Applications", "Приложения";
    new_application: "New application", "Новое приложение";
    search_names: "Search names", "Поиск по имени";
    identifier: "Identifier", "Идентификатор";
    version: "Version", "Версия";
    versions: "Versions", "Версии";
    unreadable: "unreadable", "не читается";
    saved_live: "Saved. The rules are in force now.", "Сохранено. Правила уже действуют.";
    general: "General", "Общее";
    gateway_policy: "At the gateway", "На шлюзе";
    mode: "Mode", "Режим";
    mode_sync: "Synchronous", "Синхронный";
    mode_sync_hint: "Each prompt is checked before the model is called; a violation gets the phrase below.",
        "Каждый запрос проверяется до вызова модели; при нарушении отвечаем фразой ниже.";
    mode_async: "Asynchronous", "Асинхронный";
    mode_async_hint: "Nothing waits and nothing is blocked; everything is checked and recorded.",
        "Ничто не ждёт и не блокируется; всё проверяется и записывается.";
    mode_none: "No policy", "Без политики";
    mode_none_hint: "The gateway treats the calls as asynchronous.", "Шлюз обрабатывает вызовы как асинхронные.";
    mode_none_short: "none", "нет";
    phrase: "Phrase", "Фраза";
    phrase_hint: "What the user reads in place of an answer when a prompt is blocked.",
        "Что увидит пользователь вместо ответа, если запрос заблокирован.";
    blocks_on: "A prompt is blocked by", "Запрос блокируют";
    sensitive_data: "Sensitive data", "Чувствительные данные";
    guardrails: "Guardrails", "Защитные правила";
    custom_policies: "Custom policies", "Свои политики";
    backend_failure: "When no verdict can be had", "Если вердикт получить нельзя";
    failure_open: "Let the call pass, and mark it", "Пропустить вызов и пометить его";
    failure_closed: "Refuse the call", "Отказать в вызове";
    checked_messages: "Checked messages", "Проверяемые сообщения";
    role_last_user: "Last user message", "Последнее сообщение пользователя";
    role_all_user: "All user messages", "Все сообщения пользователя";
    role_system: "System", "Системные";
    role_assistant: "Assistant", "Ассистента";
    role_tool: "Tool results", "Результаты инструментов";
    replace_response: "Replace flagged answers", "Заменять ответы с нарушениями";
    replace_response_hint: "The answer waits for its own check.", "Ответ ждёт собственной проверки.";
    redact_upstream: "Replace finds before the model sees them", "Скрывать найденное от модели";
    redact_upstream_hint: "The forwarded text is changed.", "Пересылаемый текст меняется.";
    stream_in_sync: "Streams in synchronous mode", "Потоки в синхронном режиме";
    stream_off: "Answer whole", "Отвечать целиком";
    stream_hold_back: "Stream behind a checked window", "Передавать с проверкой на лету";
    local_patterns: "What the gateway itself looks for", "Что ищет сам шлюз";
    local_patterns_hint: "To replace finds or to stream behind a window, the gateway judges by itself.",
        "Чтобы скрывать найденное и проверять на лету, шлюз ищет сам.";
    local_usual: "The usual", "Обычное";
    local_usual_hint: "All that it can find but for dates, durations and amounts.",
        "Всё, что он умеет находить, кроме дат, сроков и сумм.";
    limits: "Limits on calls", "Ограничения вызовов";
    limits_hint: "A call beyond a limit is answered with 429 and the time to come back; the model is not called. Each gateway counts on its own. Empty: no limit.",
        "Вызов сверх предела получает 429 и время, когда повторить; модель не вызывается. Каждый шлюз считает сам. Пусто: без ограничения.";
    limit_calls: "Calls", "Вызовов";
    limit_per: "in a", "за";
    minute: "minute", "минуту";
    second: "second", "секунду";
    limit_burst: "Of these, at once", "Из них сразу";
    limit_concurrent: "Under way together", "Одновременно";
    prompts: "Prompts", "Запросы";
    answers: "Answers", "Ответы";
    prompt: "Prompt", "Запрос";
    answer: "Answer", "Ответ";
    sensitive_data_hint: "Find personal and business data and clean the text that is kept.",
        "Находить личные и деловые данные и очищать хранимый текст.";
    patterns: "Patterns", "Шаблоны";
    patterns_all: "All, also those of later versions", "Все, и из будущих версий тоже";
    patterns_chosen: "These:", "Только эти:";
    custom_patterns: "Custom patterns", "Свои шаблоны";
    add_pattern: "Add a pattern", "Добавить шаблон";
    regex: "Regular expression", "Регулярное выражение";
    allowed_patterns: "Allowed", "Разрешённое";
    allowed_patterns_hint: "A find that one of these matches as a whole is no find.",
        "Находка, целиком совпавшая с одним из них, не считается.";
    add_allowed: "Add an exception", "Добавить исключение";
    clean_type: "What happens to finds", "Что делать с найденным";
    masking: "Mask", "Маскировать";
    deletion: "Delete", "Удалять";
    detection: "Only report", "Только сообщать";
    mask_style: "Mask", "Маска";
    guardrails_hint: "Look for attacks on the model and for harmful requests.",
        "Искать атаки на модель и опасные просьбы.";
    custom_policies_hint: "Rules in your own words.", "Правила вашими словами.";
    instruction: "Instruction", "Указание";
    add_policy: "Add a policy", "Добавить политику";
    token_thresholds: "Token thresholds", "Пороги по токенам";
    token_thresholds_hint: "Strictly ascending; empty for none.", "Строго по возрастанию; пусто, если не нужны.";
    low: "Low", "Низкий";
    high: "High", "Высокий";
    critical: "Critical", "Критический";
    encoding: "Encoding", "Кодировка";
    keeping: "Keeping", "Хранение";
    keep_original: "Keep the original text too", "Хранить и исходный текст";
    keep_original_hint: "Beside the cleaned one, for those who read records.",
        "Рядом с очищенным, для тех, кто читает записи.";
    retention: "Retention", "Срок хранения";
    retention_hint: "Records beyond any of these go, oldest first. Empty: as the whole store.",
        "Записи сверх любого предела удаляются, начиная со старых. Пусто: как во всём хранилище.";
    days: "Days", "Дней";
    records_count: "Records", "Записей";
    bytes: "Bytes", "Байт";
    remove_application: "Remove this application", "Удалить приложение";
    remove_hint: "Its rules, versions, tokens and records go for good, and so do the accounts of people who see this application alone. Where there are any, only an administrator may remove it.",
        "Его правила, версии, токены и записи удаляются безвозвратно, а с ними и учётные записи тех, кому доступно только это приложение. Если они есть, удалить его может лишь администратор.";
    remove_type_name: "Type its name", "Введите его имя";
    remove_wrong_name: "is not the application's name", "это не имя приложения";

    // Trying out
    try_out: "Try it out", "Проверка";
    try_out_hint: "The rules as they stand in the form, saved or not. Nothing is kept.",
        "Правила как в форме, сохранены они или нет. Ничего не записывается.";
    direction: "Direction", "Направление";
    try_placeholder: "Type or paste a text…", "Введите или вставьте текст…";
    try_it: "Try", "Проверить";
    would_block: "would be blocked", "будет заблокирован";
    would_pass: "would pass", "пройдёт";
    tokens: "Tokens", "Токены";
    found: "Found", "Найдено";
    cleaned_text: "Cleaned text", "Очищенный текст";
    policies_left_out: "Custom policies are asked about below.", "О своих политиках спрашивают ниже.";
    policy_tester: "Test the custom policies", "Проверить свои политики";
    policy_tester_hint: "Asks the judge about the text above, by the policies as they stand in the form.",
        "Спрашивает судью о тексте выше по политикам, как они стоят в форме.";
    ask_judge: "Ask the judge", "Спросить судью";
    no_policies: "There is no policy for prompts in the form yet.", "В форме пока нет политик для запросов.";
    no_text_tried: "Type a text above first.", "Сначала введите текст выше.";
    regex_tester: "Test one regular expression", "Проверить одно выражение";
    matches: "Matches", "Совпадений";
    replay: "Stored records", "Накопленные записи";
    replay_hint: "Which verdicts would be others by the rules in the form?",
        "Какие вердикты изменились бы с правилами из формы?";
    replay_now: "Judge the latest 100", "Перепроверить последние 100";
    records_looked_at: "Records", "Записей";
    verdicts_changed: "Would change", "Изменится";
    on_cleaned_text: "Judged on their cleaned text", "Проверены по очищенному тексту";
    without_text: "Without any text", "Без текста";
    older_records: "Older ones", "Более старые";

    // Versions and conflicts
    latest: "latest", "действует";
    restore: "Restore", "Восстановить";
    restore_question: "Make a new version out of version", "Сделать новую версию из версии";
    first_version: "The first version.", "Первая версия.";
    before: "Before", "Было";
    after: "After", "Стало";
    differences: "Differences", "Отличия";
    no_differences: "Nothing differs.", "Отличий нет.";
    conflict: "Somebody else saved meanwhile.", "Тем временем сохранил кто-то другой.";
    conflict_hint: "Your changes are still in the form below. Saving again puts them in place of theirs.",
        "Ваши изменения остались в форме ниже. Повторное сохранение заменит ими чужие.";
    their_changes: "What they changed", "Что изменено другими";
    own_changes: "What saving again would change", "Что изменит повторное сохранение";
    theirs: "Theirs", "У них";
    yours: "Yours", "У вас";
    take_theirs: "Discard mine, show theirs", "Отбросить мои, показать их";
}

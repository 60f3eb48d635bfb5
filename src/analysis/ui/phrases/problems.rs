//! Messages of the services about fields and refusals, in Russian: THE table, keyed by the English text
//! of the API. A `{}` stands for what varies: a number, a name, a list, or a text with a row of its
//! own. A text without a row is shown as it is; the tests below name the texts that must have one.

/// A message in Russian; None where it has no row.
pub(crate) fn russian(text: &str) -> Option<String> {
    TABLE.iter().find_map(|(english, russian)| {
        let varying = varying(english, text)?;
        let mut parts = russian.split("{}");
        let mut told = parts.next().unwrap_or_default().to_owned();
        for (part, found) in parts.zip(varying) {
            told.push_str(&self::russian(found).unwrap_or_else(|| found.to_owned()));
            told.push_str(part);
        }
        Some(told)
    })
}

/// The parts of a text at the places of `{}`; None where the text does not match the pattern.
fn varying<'t>(pattern: &str, text: &'t str) -> Option<Vec<&'t str>> {
    let (first, rest) = match pattern.split_once("{}") {
        None => return (pattern == text).then(Vec::new),
        Some(parts) => parts,
    };
    let mut left = text.strip_prefix(first)?;
    let mut found = Vec::new();
    let mut parts = rest.split("{}").peekable();
    while let Some(part) = parts.next() {
        let (before, after) = match parts.peek() {
            Some(_) => left.split_once(part)?,
            None => (left.strip_suffix(part)?, ""),
        };
        found.push(before);
        left = after;
    }
    Some(found)
}

#[rustfmt::skip]
static TABLE: &[(&str, &str)] = &[
    // Any field
    ("missing", "не задано"),
    ("is empty", "пусто"),
    ("must not be empty", "не должно быть пустым"),
    ("must be a string", "нужна строка"),
    ("must be text", "нужен текст"),
    ("must be true or false", "нужно true или false"),
    ("must be an object", "нужен объект"),
    ("must be a list", "нужен список"),
    ("must be an integer", "нужно целое число"),
    ("must be a UUID", "нужен UUID"),
    ("must be a number from 0 to 1", "нужно число от 0 до 1"),
    ("must be a whole number from {} to {}", "нужно целое число от {} до {}"),
    ("must be an integer from {} to {}", "нужно целое число от {} до {}"),
    ("is empty; allowed: 1 to {} characters", "пусто; допустимо от 1 до {} символов"),
    ("has {} characters; allowed: 1 to {}", "символов {}; допустимо от 1 до {}"),
    ("has {} characters; allowed: up to {}", "символов {}; допустимо до {}"),
    ("has {} bytes; allowed: at most {}", "байт {}; допустимо не больше {}"),
    ("has {} elements; allowed: at most {}", "элементов {}; допустимо не больше {}"),
    ("has control characters; allowed: one line of text", "есть управляющие символы; допустима одна строка текста"),
    ("has control characters; allowed: text with line breaks and tabs",
     "есть управляющие символы; допустим текст с переводами строк и табуляцией"),
    ("must not contain control characters, or spaces at its ends", "без управляющих символов и без пробелов по краям"),
    ("contains the character NUL", "есть символ NUL"),
    ("contains a text with the character NUL", "есть текст с символом NUL"),
    ("is not one of the list", "нет в списке"),
    ("unknown; allowed: {}", "неизвестное поле; допустимы: {}"),
    ("is an unknown field; allowed: {}", "неизвестное поле; допустимы: {}"),
    ("unknown {} `{}`; one of {}", "неизвестное значение {}: `{}`; допустимы: {}"),

    // Rules of an application
    ("must be a pattern's name or an object {name, regex}", "нужно имя шаблона или объект {name, regex}"),
    ("must be a category's name", "нужно имя категории"),
    ("allowed: at most {} categories", "допустимо категорий: не больше {}"),
    ("must be low < high < critical", "должно быть low < high < critical"),
    ("are for user messages only (§4.3); allowed: an empty list",
     "только для сообщений пользователя (§4.3); допустим пустой список"),
    ("is not valid: {}", "это не регулярное выражение: {}"),
    ("is larger than {} bytes when compiled", "после разбора занимает больше {} байт"),
    ("is larger than {} bytes when compiled, with the regexes before it",
     "вместе с предыдущими выражениями занимает после разбора больше {} байт"),
    ("is not compiled: the regexes before it took {} ms", "не разобрано: на предыдущие выражения ушло {} мс"),
    ("matches the empty text; allowed: a regex that needs a character",
     "подходит к пустому тексту; нужно выражение хотя бы с одним символом"),
    ("unclosed group", "скобка не закрыта"),
    ("unopened group", "лишняя закрывающая скобка"),
    ("unclosed character class", "класс символов не закрыт"),
    ("repetition operator missing expression", "перед оператором повторения нет выражения"),
    ("unclosed counted repetition", "не закрыто число повторений"),
    ("unrecognized escape sequence", "неизвестная последовательность после обратной косой черты"),
    ("incomplete escape sequence, reached end of pattern prematurely", "выражение обрывается на обратной косой черте"),
    ("backreferences are not supported", "обратные ссылки не поддерживаются"),
    ("look-around, including look-ahead and look-behind, is not supported",
     "просмотр вперёд и назад не поддерживается"),
    ("the application has no such version", "такой версии у приложения нет"),

    // Policy of an application
    ("is not set; allowed: sync, async", "не задано; допустимы: sync, async"),
    ("is not set; app_mode sync needs the text of the answer to a blocked call",
     "не задано; в режиме sync нужен текст ответа на заблокированный вызов"),
    ("is an empty list; allowed: at least one role", "список пуст; нужна хотя бы одна роль"),
    ("is an empty list; allowed: at least one pattern; leave the field out for the default set",
     "список пуст; укажите хотя бы один шаблон или уберите поле, тогда действует набор по умолчанию"),
    ("needs app_mode sync: in async mode no answer is replaced", "нужен режим sync: в режиме async ответы не заменяются"),
    ("hold_back needs app_mode sync: in async mode streams are delivered as they are",
     "для hold_back нужен режим sync: в режиме async потоки передаются как есть"),
    ("replay needs app_mode sync: in async mode streams are delivered as they are",
     "для replay нужен режим sync: в режиме async потоки передаются как есть"),
    ("header needs app_mode sync: in async mode nothing is blocked",
     "для header нужен режим sync: в режиме async ничего не блокируется"),
    ("check needs app_mode sync: in async mode nothing is awaited",
     "для check нужен режим sync: в режиме async ничего не ожидается"),
    ("hold_back cannot be combined with replace_response: one streams the answer, the other waits for its end",
     "hold_back несовместимо с replace_response: одно передаёт ответ потоком, другое ждёт его конца"),
    ("hold_back cannot be combined with redact_upstream: the restored values would end the stream",
     "hold_back несовместимо с redact_upstream: восстановленные значения оборвали бы поток"),
    ("hold_back needs block_on.dataclean: sensitive data is all it looks for",
     "для hold_back нужно block_on.dataclean: ищутся только чувствительные данные"),
    ("needs stream_in_sync hold_back or redact_upstream true: nothing else in the gateway uses them",
     "нужно stream_in_sync hold_back или redact_upstream true: больше ничто в шлюзе их не использует"),
    ("closed needs app_mode sync: in async mode the backend is not awaited",
     "для closed нужен режим sync: в режиме async ответа сервера анализа не ждут"),
    ("lists {} twice", "{} указано дважды"),
    ("has an unknown value; allowed: {}", "неизвестное значение; допустимы: {}"),
    ("is not a group of fields; allowed: {}", "это не группа полей; допустимы: {}"),
    ("is not a valid number of calls; allowed: 1 to {}", "неверное число вызовов; допустимо от 1 до {}"),
    ("cannot be combined with requests_per_second; allowed: one of the two",
     "несовместимо с requests_per_second; допустимо одно из двух"),
    ("needs requests_per_second or requests_per_minute", "нужно requests_per_second или requests_per_minute"),
    ("is not a list of budgets, each {per, window, tokens or cost, action}",
     "это не список бюджетов, каждый вида {per, window, tokens или cost, action}"),
    ("has the per, the window and the unit of an earlier budget; allowed: one of each, where warn_at warns before it is spent",
     "per, window и единица те же, что у бюджета выше; допустим один такой, а предупреждает заранее его warn_at"),
    ("needs tokens or cost", "нужно tokens или cost"),
    ("cannot be combined with tokens; allowed: one of the two", "несовместимо с tokens; допустимо одно из двух"),
    ("is not an amount above 0; allowed: digits, with at most 12 before and 12 behind a decimal point",
     "это не сумма больше 0; допустимы цифры, не больше 12 до и 12 после десятичной точки"),
    ("is not one of the words; allowed: {}", "неизвестное слово; допустимы: {}"),
    ("is empty; allowed: {}", "пусто; допустимо: {}"),
    ("is true or false; allowed: {}", "это true или false; допустимо: {}"),
    ("is a number; allowed: {}", "это число; допустимо: {}"),
    ("is text; allowed: {}", "это текст; допустимо: {}"),
    ("is a list; allowed: {}", "это список; допустимо: {}"),
    ("is a group of fields; allowed: {}", "это группа полей; допустимо: {}"),
    ("{} is found by the backend only; allowed: {}", "{} находит только сервер анализа; допустимы: {}"),
    ("{} is unknown; allowed: {}", "{} неизвестно; допустимы: {}"),
    ("true or false", "true или false"),
    ("text", "текст"),
    ("a list of words", "список слов"),
    ("a group of fields", "группа полей"),
    ("at least one of {}", "хотя бы одно из {}"),

    // Stages that have not looked at a whole message
    ("dataclean: message too long: the first {} of {} bytes were analyzed, the rest was not",
     "чувствительные данные: сообщение слишком длинное: проверены первые {} из {} байт, остальное не проверено"),
    ("guardrails: message too long: the first {} of {} bytes were analyzed, the rest was not",
     "защитные правила: сообщение слишком длинное: проверены первые {} из {} байт, остальное не проверено"),

    ("dataclean: custom pattern {}: its regex {}", "чувствительные данные: пользовательский шаблон {}: выражение {}"),
    ("dataclean: allowed patterns were stopped: {} findings were not compared with all of them and stay findings; allowed: {} findings, and {} ms together with custom patterns",
     "чувствительные данные: разрешённые шаблоны остановлены: находок, сравненных не со всеми из них, {}, они остаются; допустимо находок: {}, и {} мс вместе с пользовательскими шаблонами"),
    ("dataclean: allowed patterns: {} findings were not compared with large regexes and stay findings; allowed: findings of at most {} bytes",
     "чувствительные данные: разрешённые шаблоны: находок, которые не сравнивались с большими выражениями, {}, они остаются; допустимы находки не длиннее {} байт"),

    // Warnings of a verdict
    ("the verdicts on custom policies are copied from the record, no judge was asked",
     "вердикты по пользовательским политикам взяты из записи, судью не спрашивали"),
    ("this user's records were erased, nothing was stored", "записи этого пользователя стёрты, ничего не сохранено"),
    ("request_id stands for another text, which is stored: this one was checked and not stored; send every message under an id of its own",
     "за request_id стоит другой текст, он сохранён; этот проверен и не сохранён: отправляйте каждое сообщение под своим идентификатором"),
    ("its id stands for another text, which was stored first: this record is stored beside it, under an id of its own",
     "за его идентификатором стоит другой текст, сохранённый раньше: эта запись сохранена рядом, под своим идентификатором"),
    ("{}: ignored, custom policies are for user messages only",
     "{}: не учтено, пользовательские политики только для сообщений пользователя"),
    ("{}: not known, ignored", "{}: неизвестное поле, не учтено"),

    // Accounts and passwords
    ("is too short; allowed: {} to {} characters", "слишком короткий; допустимо от {} до {} символов"),
    ("is too long; allowed: {} to {} characters", "слишком длинный; допустимо от {} до {} символов"),
    ("is too long; allowed: {} characters", "слишком длинно; допустимо символов: {}"),
    ("is the same as the name; choose another one", "совпадает с именем; выберите другой"),
    ("repeats one character; choose another one", "один и тот же символ; выберите другой"),
    ("is taken; choose another one", "занято; выберите другое"),
    ("allowed: 1 to {} letters, digits and . - _ @ +", "допустимо от 1 до {} букв, цифр и знаков . - _ @ +"),
    ("no application has this id", "приложения с таким идентификатором нет"),
    ("the account is disabled", "учётная запись отключена"),
    ("policy: the configuration file (applications) has the policy of this application: change it there",
     "policy: политика этого приложения задана в файле конфигурации (applications): измените её там"),
    ("the configuration file (applications) lists this application: remove it there first",
     "приложение указано в файле конфигурации (applications): сначала уберите его оттуда"),
    ("this is the last administrator: make another one first, and sign in with it",
     "это последний администратор: сначала создайте другого и войдите под ним"),

    // Tokens
    ("must be in the future", "должно быть в будущем"),
    ("must be in milliseconds since 1970, before the year 10000", "нужны миллисекунды с 1970 года, до 10000 года"),
    ("must be longer than zero and end before the year 10000", "нужен срок больше нуля, до 10000 года"),
    ("must be a day, such as 2027-01-31", "нужен день, например 2027-01-31"),

    ("the token is expired or revoked: make a new one instead", "токен истёк или отозван: создайте новый"),

    // Filters
    ("there are more than {} sums, and the file would be cut; ask for fewer days (from, to), coarser groups (group_by), one application_id or one model",
     "сумм больше {}, и файл был бы неполным; выберите меньше дней (с, по), более крупные группы, одно приложение или одну модель"),
    ("the log has more than {} such entries, and the file would be cut; narrow the time (from, to), the action or the application",
     "таких записей в журнале больше {}, и файл был бы неполным; сузьте время (с, по), действие или приложение"),
    ("must be pre or post", "допустимы: pre, post"),
    ("must be a day such as 2026-01-31", "нужен день, например 2026-01-31"),
    ("must be milliseconds since 1970 or a time such as 2026-01-31T12:00:00Z",
     "нужны миллисекунды с 1970 года или время, например 2026-01-31T12:00:00Z"),
    ("must be flagged, clean, unchecked, guardrails, custom_policy, dataclean, blocked or failed",
     "допустимы: flagged, clean, unchecked, guardrails, custom_policy, dataclean, blocked, failed"),
    ("must be the next_before of a page", "нужно значение next_before предыдущей страницы"),
    ("must have at most {} characters", "допустимо символов: не больше {}"),
    ("must be less than {} days before to", "от начала до конца должно быть меньше {} дней"),
    ("must not be after to", "начало позже конца"),
    ("must be 24h, 7d or 30d", "допустимы: 24h, 7d, 30d"),
    ("is no filter of the overview: choose one of its periods, or filter the records",
     "на обзоре нет такого фильтра: выберите один из его периодов или отфильтруйте записи"),
    ("searches original texts too, which takes the scope read", "ищет и в исходных текстах, для этого нужно право read"),
    ("takes {} only", "допустимы только {}"),
    ("takes no parameters", "параметров нет"),
    ("is repeated", "задано несколько раз"),
    ("is not a list of name=value pairs", "не читается как пары имя=значение"),
    ("is empty or too long", "пустой или слишком длинный"),
    ("must be one line of 1 to {} characters", "нужна одна строка от 1 до {} символов"),
    ("you have {} filters already: delete one first", "у вас уже {} фильтров: сначала удалите один"),

    // Refusals as a whole
    ("too many changes, or reads of originals, of this application (limits.application_changes): try again later",
     "слишком много изменений этого приложения или просмотров исходных текстов (limits.application_changes): повторите позже"),
    ("version: the application is now at version {}; read it and repeat the change",
     "приложение уже на версии {}: откройте его и внесите изменение заново"),
    ("the request body did not arrive in time: silence may last limits.header_timeout, then at least 500 bytes a second must come",
     "тело запроса не пришло вовремя: пауза может длиться limits.header_timeout, затем нужно не меньше 500 байт в секунду"),
    ("the memory for requests and answers (limits.buffered_bytes, and of one client limits.client_bytes) is exhausted: try again",
     "память для запросов и ответов (limits.buffered_bytes, а для одного клиента limits.client_bytes) исчерпана: попробуйте ещё раз"),
    ("the store is not available, nothing was recorded: try again", "хранилище недоступно, ничего не записано: повторите попытку"),
    ("too many messages wait to be analyzed (limits.waiting_bytes), nothing was recorded: try again",
     "анализа ждёт слишком много сообщений (limits.waiting_bytes), ничего не записано: повторите попытку"),
    ("the message waited too long to be analyzed (limits.longest_wait), nothing was recorded: try again",
     "сообщение слишком долго ждало анализа (limits.longest_wait), ничего не записано: повторите попытку"),
    ("too many rules wait to be compiled (limits.waiting_bytes), nothing was recorded or changed: try again",
     "компиляции ждёт слишком много правил (limits.waiting_bytes), ничего не записано и не изменено: повторите попытку"),
    ("the rules waited too long to be compiled (limits.longest_wait), nothing was recorded or changed: try again",
     "правила слишком долго ждали компиляции (limits.longest_wait), ничего не записано и не изменено: повторите попытку"),
    ("too many requests of this client wait to read the store: try again",
     "чтения хранилища ждёт слишком много запросов этого клиента: повторите попытку"),
    ("the request waited too long to read the store (limits.longest_wait): try again",
     "запрос слишком долго ждал чтения хранилища (limits.longest_wait): повторите попытку"),
    ("the store refuses the change, nothing was changed: the server's log names the constraint",
      "хранилище отклонило изменение, ничего не изменено: ограничение названо в журнале сервера"),
    ("the analysis failed", "анализ не удался"),
    ("{}: no judge is configured (judge.url); the policies were matched by keywords only",
     "{}: судья не настроен (judge.url); политики проверены только по ключевым словам"),
    ("not found", "не найдено"),

    // Signing in by an identity provider
    ("the identity provider cannot be reached: {}", "провайдер идентификации недоступен: {}"),
    ("its address cannot be asked", "обратиться по его адресу нельзя"),
    ("it did not answer in time", "он не ответил вовремя"),
    ("no connection, or it was closed", "нет соединения, или оно оборвалось"),
    ("its answer is incomplete or too large", "его ответ оборвался или слишком велик"),
    ("the secret cannot be sent", "секрет нельзя передать"),
    ("the system's random number generator failed", "сбой системного генератора случайных чисел"),
    ("the identity provider's answer {}", "ответ провайдера идентификации: {}"),
    ("is not JSON", "это не JSON"),
    ("has no ID token", "в нём нет токена"),
    ("the identity provider's metadata {}", "метаданные провайдера идентификации: {}"),
    ("has no usable URL", "нет подходящего адреса"),
    ("is of another issuer", "от другого издателя"),
    ("lacks a URL, or has one without TLS", "нет адреса, или он без TLS"),
    ("the identity provider refuses with status {} {}", "провайдер идентификации отказал со статусом {} {}"),
    ("the identity provider did not sign you in: {}", "провайдер идентификации отклонил вход: {}"),
    ("it does not say why", "причина не указана"),
    ("the identity provider's token {}", "токен провайдера идентификации: {}"),
    ("has no usable subject", "не указан пользователь"),
    ("is for another audience", "для другого получателя"),
    ("is expired", "истёк"),
    ("is not valid yet", "ещё не действует"),
    ("belongs to another sign-in", "относится к другому входу"),
    ("is not a signed token", "это не подписанный токен"),
    ("has a signature that is not the provider's", "подпись не этого провайдера"),
    ("is not signed by RS256, PS256 or ES256", "подписан не по RS256, PS256 или ES256"),
    ("has critical headers that are not supported", "требует неизвестных расширений"),
    ("does not name the key that signed it", "не указан ключ подписи"),
    ("is signed by a key that the provider does not publish", "подписан ключом, которого провайдер не публикует"),
    ("this sign-in was begun elsewhere or too long ago, or is over: begin again",
     "этот вход начат в другом месте или слишком давно, либо уже завершён: начните заново"),
    ("the application has as many access keys as it may have (limits.application_keys): revoke some first",
     "у приложения столько ключей доступа, сколько разрешено (limits.application_keys): сначала отзовите часть"),
    ("the application has had ten times as many access keys as it may have (limits.application_keys): raise the limit, or \
      make another application",
     "у приложения было в десять раз больше ключей доступа, чем разрешено (limits.application_keys): увеличьте предел \
      или создайте другое приложение"),
    ("too many sign-ins are under way: try again", "слишком много входов одновременно: попробуйте ещё раз"),
    ("you cannot sign in: {}", "вход не разрешён: {}"),
    ("no verified e-mail address of an allowed domain", "нет подтверждённого адреса почты в разрешённом домене"),
    ("there is no account for you, and no role to create one with",
     "учётной записи для вас нет, и нет роли, с которой её можно создать"),
    ("your name belongs to another account; ask an administrator",
     "ваше имя занято другой учётной записью; обратитесь к администратору"),
    ("your account is disabled", "ваша учётная запись отключена"),
];

#[cfg(test)]
mod tests;

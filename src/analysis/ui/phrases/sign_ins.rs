//! The phrases of second factors and of the list of sign-ins.

phrases! {
    second_factor: "Second factor", "Второй фактор";
    must_set_up: "This server requires a second factor. Set it up to go on.",
        "Этот сервер требует второй фактор. Настройте его, чтобы продолжить.";
    set_up_hint: "Scan this picture with an authenticator app, then enter your password and the code it shows.",
        "Отсканируйте картинку приложением для кодов и введите свой пароль и код, который оно покажет.";
    qr_code: "QR code of the secret", "QR-код с секретом";
    secret_hint: "Or enter this secret into the app (time-based, 6 digits, 30 seconds):",
        "Или введите этот секрет в приложение (по времени, 6 цифр, 30 секунд):";
    code: "Code", "Код";
    code_hint: "Six digits from your app, or a recovery code.",
        "Шесть цифр из приложения или резервный код.";
    wrong_code: "The code is wrong, or was used before.", "Код неверен или уже использован.";
    wrong_proof: "The password or the code is wrong, or the code was used before.",
        "Пароль или код неверен, либо код уже использован.";
    code_over: "The code came too late. Sign in again.", "Код введён слишком поздно. Войдите ещё раз.";
    turn_on: "Turn on", "Включить";
    turn_off: "Turn off", "Отключить";
    now_on: "The second factor is on. Your other sign-ins have ended.",
        "Второй фактор включён. Остальные ваши входы завершены.";
    recovery_hint: "Keep these recovery codes in a safe place. Each replaces one code, once. They are not shown again.",
        "Сохраните эти резервные коды в надёжном месте. Каждый один раз заменяет код. Больше они не показываются.";
    is_on: "The second factor is on: each sign-in by password asks for a code.",
        "Второй фактор включён: при каждом входе по паролю нужен код.";
    recovery_left: "Recovery codes left:", "Осталось резервных кодов:";
    remove: "Remove the second factor", "Удалить второй фактор";
    remove_hint: "For somebody who has lost both the app and the recovery codes. The password alone is enough from then on.",
        "Для тех, кто потерял и приложение, и резервные коды. После этого для входа достаточно пароля.";
    remove_question: "Remove the second factor of", "Удалить второй фактор пользователя";
    sign_ins: "Sign-ins", "Входы";
    began: "Signed in", "Вход";
    browser: "Browser", "Браузер";
    address: "Address", "Адрес";
    last_used: "Last used", "Последнее обращение";
    unknown: "unknown", "неизвестно";
    this_one: "this browser", "этот браузер";
    end: "End", "Завершить";
    end_others: "End all others", "Завершить все остальные";
    end_all: "End all", "Завершить все";
    none: "Not signed in anywhere.", "Входов нет.";
}

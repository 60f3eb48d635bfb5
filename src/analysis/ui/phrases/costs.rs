//! The phrases of the page of costs.

phrases! {
    costs: "Costs", "Расходы";
    costs_hint: "What recorded calls cost, by the prices in force when they came in. Days are in UTC.",
        "Стоимость записанных вызовов по ценам, действовавшим при их поступлении. Дни по UTC.";
    group: "Group by", "Группировать по";
    by_model: "Model", "Модели";
    by_application: "Application", "Приложению";
    by_user: "User", "Пользователю";
    by_day: "Day", "Дню";
    first_day: "From", "С";
    last_day: "To", "По";
    export_csv: "Export these sums as CSV", "Экспортировать эти суммы в CSV";
    only_first: "Only the first 200 sums are shown; the CSV file has more.",
        "Показаны только первые 200 сумм; в файле CSV их больше.";
    no_costs: "No calls in this period.", "За этот период вызовов нет.";
    has_unpriced: "The cost of some calls is not known, and in no sum of money. Their model has no price in the configuration (prices), or nobody counted the tokens of the prompt or the answer.",
        "Стоимость некоторых вызовов неизвестна и не входит в суммы денег. У их модели нет цены в конфигурации (prices), или токены запроса или ответа никто не сосчитал.";
    highest_costs: "Highest costs", "Самые большие расходы";
    costs_by_day: "Costs by day", "Расходы по дням";
    calls: "Calls", "Вызовы";
    prompt: "Prompt tokens", "Токены запросов";
    cached: "From the cache", "Из кэша";
    cache_write: "To the cache", "В кэш";
    completion: "Answer tokens", "Токены ответов";
    reasoning: "Reasoning", "Рассуждения";
    no_user: "no user", "без пользователя";
    no_model: "unknown model", "модель неизвестна";
    estimated: "estimated", "оценка";
    unpriced: "not known", "неизвестна";
    budgets: "Budgets", "Бюджеты";
    budgets_hint: "Once a budget is spent, calls get status 429, or a warning header. Calls in progress are not counted yet, so they may exceed it. Windows follow the calendar in UTC; calls without a user share one budget.",
        "Когда бюджет потрачен, вызовы получают код 429 или предупреждающий заголовок. Незавершённые вызовы ещё не сосчитаны и могут выйти за него. Периоды календарные, по UTC; у вызовов без пользователя один общий бюджет.";
    add_budget: "Add a budget", "Добавить бюджет";
    budget_of: "Of", "Чей";
    whole_application: "the application", "приложения";
    each_user: "each user", "каждого пользователя";
    budget_window: "Per", "За";
    minute: "minute", "минуту";
    day: "day", "день";
    month: "month", "месяц";
    budget_amount: "Amount", "Размер";
    budget_unit: "Unit", "Единица";
    tokens: "tokens", "токены";
    money: "money", "деньги";
    budget_action: "When spent", "Когда потрачен";
    refuse_calls: "refuse calls", "отклонять вызовы";
    only_warn: "warn only", "только предупреждать";
    budget_warn_at: "Warn at, %", "Предупреждать с, %";
    budget: "Budget", "Бюджет";
    budget_spent: "Spent", "Потрачено";
    budget_until: "Until", "До";
    budget_state: "State", "Состояние";
    budget_left: "within", "в пределах";
    budget_near: "nearly spent", "почти потрачен";
    budget_used_up: "spent", "потрачен";
    nothing_spent: "Nothing is spent yet.", "Пока ничего не потрачено.";
}

//! The phrases of findings: their page, and the panel on a record's page.

use crate::analysis::records::findings::{FindingReason, FindingState};

phrases! {
    findings: "Findings", "Срабатывания";
    findings_hint: "Flagged messages, and what people decided about them. Open ones are shown unless you choose a state.",
        "Сообщения, на которых сработали проверки, и решения о них. Без выбора состояния показаны открытые.";
    state: "State", "Состояние";
    all_states: "All", "Все";
    open: "open", "открыто";
    confirmed: "confirmed", "подтверждено";
    false_alarm: "false alarm", "ложное";
    resolved: "resolved", "закрыто";
    unchanged: "Leave unchanged", "Не менять";
    reason: "Reason", "Причина";
    no_reason: "Choose a reason", "Выберите причину";
    real_data: "Real data that must not be there", "Настоящие данные, которых здесь быть не должно";
    real_violation: "A real attack or violation", "Настоящая атака или нарушение";
    wrong_detection: "Something else was taken for it", "За это принято другое";
    not_sensitive: "Not sensitive", "Не чувствительные данные";
    test_data: "Test data", "Тестовые данные";
    allowed_use: "The application may do this", "Приложению это разрешено";
    handled: "Taken care of", "Меры приняты";
    duplicate: "Another finding says the same", "То же, что в другом срабатывании";
    other: "Other (see the note)", "Другая (см. примечание)";
    assignee: "Assigned to", "Ответственный";
    nobody: "nobody", "никто";
    only_unassigned: "Only unassigned", "Только без ответственного";
    each_one: "Each on its own", "Каждое отдельно";
    note: "Note", "Примечание";
    types: "Found", "Найдено";
    kind: "Type", "Тип";
    from: "From (UTC)", "С (UTC)";
    to: "To (UTC)", "По (UTC)";
    received: "Received", "Получено";
    alike: "Alike", "Похожие";
    alike_since: "since", "с";
    choose: "Select the finding of", "Выбрать срабатывание от";
    with_alike: "Also those that are alike, with the same state", "И похожие с тем же состоянием";
    decide: "Decide about the selected ones", "Решение о выбранных";
    none_chosen: "select at least one finding", "выберите хотя бы одно срабатывание";
    decide_button: "Apply", "Применить";
    triage: "Triage", "Разбор";
    history: "History", "История";
    no_history: "Nobody has decided about it yet.", "Решений ещё не было.";
    to_list: "All alike findings", "Все похожие срабатывания";
    to_alerts: "Alerts, and who was told", "Оповещения и кто их получил";
    lead_on: "Try the exception or the threshold on stored records, then save it.",
        "Проверьте исключение или порог на сохранённых записях, затем сохраните.";
    allow_value: "Allow this, or raise the threshold", "Разрешить это или поднять порог";
    prefilled: "Not saved yet. Exceptions (Allowed) and thresholds are filled in from the record: check them, replay stored records, then save.",
        "Ещё не сохранено. Исключения и пороги заполнены по записи: проверьте их, прогоните сохранённые записи и сохраните.";
    precision: "Precision", "Точность";
    precision_hint: "The share of findings that people confirmed, by the newest 10,000 decisions. A decision counts for everything that was found in the message.",
        "Доля подтверждённых срабатываний по последним 10 000 решений. Решение относится ко всему, что найдено в сообщении.";
    evaluation_set: "Evaluation set (JSONL)", "Набор для оценки (JSONL)";
    not_decided: "No finding is confirmed or a false alarm yet.", "Подтверждённых и ложных срабатываний ещё нет.";
    confirmed_count: "Confirmed", "Подтверждено";
    false_alarm_count: "False alarms", "Ложных";
}

impl Phrases {
    /// A state's name.
    pub(crate) fn state_name(&self, state: FindingState) -> &'static str {
        match state {
            FindingState::Open => self.open,
            FindingState::Confirmed => self.confirmed,
            FindingState::FalseAlarm => self.false_alarm,
            FindingState::Resolved => self.resolved,
        }
    }

    /// A reason's name.
    pub(crate) fn reason_name(&self, reason: FindingReason) -> &'static str {
        match reason {
            FindingReason::RealData => self.real_data,
            FindingReason::RealViolation => self.real_violation,
            FindingReason::WrongDetection => self.wrong_detection,
            FindingReason::NotSensitive => self.not_sensitive,
            FindingReason::TestData => self.test_data,
            FindingReason::AllowedUse => self.allowed_use,
            FindingReason::Handled => self.handled,
            FindingReason::Duplicate => self.duplicate,
            FindingReason::Other => self.other,
        }
    }
}

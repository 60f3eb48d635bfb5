//! The phrases about guardrail categories.

use monitor_detect::guardrails::Category;

phrases! {
    hint: "An enabled category flags messages that score at or above its threshold. A lower threshold finds more and raises more false alarms.",
        "Включённая категория отмечает сообщения с оценкой не ниже порога. Чем ниже порог, тем больше находок и ошибок.";
    source: "False alarms: the share of ordinary messages that are flagged. Found: the share of harmful messages that are detected. Both measured on texts that the models have not seen (docs/detection.md).",
        "Ложные срабатывания: доля отмеченных обычных сообщений. Обнаружено: доля обнаруженных опасных сообщений. Измерено на текстах, которых модели не видели (docs/detection.md).";
    threshold: "Threshold", "Порог";
    not_measured: "Not measured.", "Не измерялось.";
    false_alarms: "False alarms", "Ложные срабатывания";
    found: "found", "обнаружено";
    prompt_injection: "Prompt injection", "Внедрение инструкций";
    jailbreak: "Jailbreak", "Обход ограничений";
    system_prompt_extraction: "System prompt extraction", "Извлечение системного промпта";
    violence: "Violence", "Насилие";
    weapons: "Weapons", "Оружие";
    drugs: "Drugs and poisons", "Наркотики и яды";
    self_harm: "Self-harm", "Причинение вреда себе";
    sexual: "Sexual crimes", "Сексуальные преступления";
    hate: "Hate", "Ненависть";
    extremism: "Extremism", "Экстремизм";
    fraud: "Fraud", "Мошенничество";
    cybercrime: "Cybercrime", "Киберпреступления";
    unlawful: "Other crimes", "Другие преступления";
    toxicity: "Insults and threats", "Оскорбления и угрозы";
    system_prompt_leak: "System prompt leak", "Утечка системного промпта";
    secret_leak: "Secret leak", "Утечка секретов";
    harmful_content: "Help with a crime", "Помощь в преступлении";
}

impl Phrases {
    /// The name of a category.
    pub(crate) fn name(&self, category: Category) -> &'static str {
        match category {
            Category::PromptInjection => self.prompt_injection,
            Category::Jailbreak => self.jailbreak,
            Category::SystemPromptExtraction => self.system_prompt_extraction,
            Category::Violence => self.violence,
            Category::Weapons => self.weapons,
            Category::Drugs => self.drugs,
            Category::SelfHarm => self.self_harm,
            Category::Sexual => self.sexual,
            Category::Hate => self.hate,
            Category::Extremism => self.extremism,
            Category::Fraud => self.fraud,
            Category::Cybercrime => self.cybercrime,
            Category::Unlawful => self.unlawful,
            Category::Toxicity => self.toxicity,
            Category::SystemPromptLeak => self.system_prompt_leak,
            Category::SecretLeak => self.secret_leak,
            Category::HarmfulContent => self.harmful_content,
        }
    }
}

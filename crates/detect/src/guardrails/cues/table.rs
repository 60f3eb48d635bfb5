//! THE table of cues: phrases, the reason they give, and the category they indicate. `cues::steps` defines
//! the notation of a phrase. The trainer uses this table.

/// What a cue speaks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CueKind {
    Injection,
    Jailbreak,
    Extraction,
    Harm,
}

use CueKind::{Extraction, Harm, Injection, Jailbreak};

/// A reason and the phrases that give it.
pub struct Cue {
    /// The reason that is reported.
    pub name: &'static str,
    pub kind: CueKind,
    pub turns: &'static [&'static str],
}

const fn cue(name: &'static str, kind: CueKind, turns: &'static [&'static str]) -> Cue {
    Cue { name, kind, turns }
}

/// Every cue. The models know a cue by its place: new ones stand at the end.
pub const CUES: &[Cue] = &[
    cue(
        "ignore_instructions",
        Injection,
        &[
            "ignor*|disregard*|forget*|overrid*|bypass*|discard*|neglect*|dismiss*|drop|erase|skip ..5 instruction*|instuction*|prompt*|rule|rules|guideline*|directive*|directions|orders|training|programming|commands|constraints|restrictions|prohibition*|limitations|policies",
            "игнор*|проигнор*|забуд*|забыт*|отмен*|отброс*|пренебре*|обойд*|сброс*|отключ*|сотри ..4 инструкц*|указани*|правил*|промпт*|директив*|установк*|настройк*|ограничени*|запрет*|предписани*",
            "do|must|should|will ..1 not ..1 follow|obey ..3 instructions|rules|guidelines|prompt",
            "не ..1 следуй|соблюдай|выполняй|подчиняйся ..3 инструкци*|правил*|указани*|запрет*",
        ],
    ),
    cue(
        "forget_everything",
        Injection,
        &[
            "ignore|forget|disregard|erase|delete ..1 everything|all|anything ..3 above|before|previous|previously|said|told|learned|know",
            "забудь|игнорируй|сотри|отбрось ..1 все|всю|обо ..4 до|раньше|ранее|прежде|выше|предыдущ*|говорил*|сказан*|знал*",
        ],
    ),
    cue(
        "instructions_void",
        Injection,
        &[
            "previous|prior|earlier|above|old|original|existing ..2 instructions|rules|prompt|guidelines|directives ..4 void|invalid|cancelled|canceled|obsolete|over|revoked|outdated|irrelevant|apply|superseded",
            "предыдущ*|прежн*|стары*|прошлы*|ранее ..3 инструкци*|правил*|указани*|директив*|команд* ..4 недействит*|отменен*|отменяю*|утратил*|больше|устарел*|аннулир*|неактуальн*",
        ],
    ),
    cue(
        "new_instructions",
        Injection,
        &[
            "new|updated|real|actual|true|next|revised ..1 instruction*|task|directive*|rules|objective|prompt|orders|goal ..2 :|is|are|follow*",
            "нов*|настоящ*|обновленн*|следующ* ..1 инструкци*|задач*|задани*|указани*|директив*|правил*|приказ*|цель ..2 :|следующ*|такая|таков*",
            "instead ..1 of ..4 do|say|answer|print|write|output",
            "вместо этого ..3 выведи|напиши|скажи|ответь|сделай|покажи|напечатай",
        ],
    ),
    cue(
        "conversation_markers",
        Injection,
        &[
            "< ¦ im",
            "im _ start|end|sep",
            "< ¦ end|user|system|assistant|endoftext",
            "[ inst",
            "[ / inst",
            "< / ..1 user|data|main|email|document|context|input|summary|message|system",
            "# system|instruction*|assistant|human|user|new ..2 :|#|prompt|message|instruction*",
            "end|ends ..1 of ..2 email|emails|document|text|message|messages|conversation|prompt|input|context|user",
            "конец ..2 документа|текста|письма|сообщени*|промпта|инструкци*|контекста|ввода",
            "begin|start|beginning ..1 of ..2 conversation|session|instructions|prompt",
            "- end|start|begin ..4 -",
            "= ..1 переопредел*|system|override|новый|внимание",
            "system ..1 initialized|override|reset|reboot|update",
        ],
    ),
    cue(
        "system_voice",
        Injection,
        &[
            "system|admin|administrator|root|developer|security|maintenance ..1 override|note|notice|message|command|directive|alert|update|authorization ..1 :|]|-",
            "системн*|админ*|служебн* ..1 сообщени*|команд*|директив*|уведомлени*|приказ* ..2 :|]|-",
            "переопредел* ..1 систем*|контекст*|инструкци*|рол*",
            "i|im ..2 your ..2 developer|creator|administrator|admin|owner|programmer|supervisor",
            "я ..2 твой|ваш ..1 разработчик|создател*|администратор|программист|хозяин",
        ],
    ),
    cue(
        "talks_to_the_model",
        Injection,
        &[
            "ai|llm|chatgpt|gpt|model|assistant|bot|copilot|agent|chatbot ..3 must|should|please|instructed|required|shall|reading|processing|summarizing|ignore|forget",
            "if ..1 you ..2 are|re ..3 ai|llm|assistant|model|bot|agent|summar*|reading|processing",
            "ии|нейросет*|модел*|ассистент*|бот|помощник ..3 долж*|обязан*|следует|пожалуйста|читающ*|обрабатыва*|игнорир*|забуд*",
            "если ..1 ты|вы ..3 ии|модел*|ассистент*|бот|нейросет*|языков*",
            "note|message|instruction*|attention|attn|dear ..1 to|for ..2 ai|llm|assistant|assistants|model|models|agent|bot|copilot",
        ],
    ),
    cue(
        "changes_the_answer",
        Injection,
        &[
            "in|to|into|of|from|with ..1 your ..2 response|reply|answer|answers|summary|output|responses",
            "add|append|include|insert|integrate|incorporate|modify|embed|encode|provide|give|use|merge|mention ..9 your|the ..1 response|reply|answer|code|codebase|solution|implementation|algorithm|summary",
            "добав*|включ*|встав*|упомян*|вплет*|используй|замени ..6 ответ*|код*|резюме|пересказ* ",
            "respond|answer|reply|response ..2 only|exclusively|just ..2 with|in|using",
            "отвеча*|ответь ..1 только|исключительно|лишь ..2 в|на|слов*|фраз*|с",
        ],
    ),
    cue(
        "sends_data_away",
        Injection,
        &[
            "send|forward|email|mail|post|upload|exfiltrate|transmit|leak ..8 to ..6 @|http|https|contact|www|com|server|address",
            "отправ*|перешл*|вышл*|передай|скинь|загрузи ..8 на|по ..3 адрес*|почт*|http|https|сервер*|сайт*|электронн*",
            "send|reply|respond|write ..6 word|body|content|text|subject ..3 confirmation|confirm*|approved",
            "requests . post",
            "curl ..6 http|https",
        ],
    ),
    cue(
        "persona_without_rules",
        Jailbreak,
        &[
            "act|pretend|roleplay|role|behave|imagine|simulat*|become|play|immerse|be|are|persona ..12 no|without|unfiltered|uncensored|unrestricted|unlimited|amoral|immoral|evil|unethical|lawless|rogue|jailbroken|anything|broken ..3 restriction*|filter*|limit*|rules|ethic*|moral*|censor*|guideline*|boundar*|now|model|ai|bot|chatbot|assistant|free|answer*",
            "представь|притвор*|веди|действ*|сыграй|играй|будь|будешь|стань|персонаж*|роль|роли ..12 без|нет|никаких|аморальн*|злой|злого|нефильтр*|неограничен*|свободн* ..3 ограничени*|фильтр*|цензур*|правил*|этик*|этическ*|морал*|запрет*|советник*|бот*",
        ],
    ),
    cue(
        "no_limits",
        Jailbreak,
        &[
            "no|without|free|ignores|ignore|bypass*|not|break*|beyond|any|remove*|lift* ..4 restriction*|filter*|filtering|limitation*|ethical|ethics|moral|morals|censorship|guidelines|safeguard*|safety|boundaries|content ..1 polic*|restriction*|filter*|guideline*|rules|constraint*|limit*|standard*|warning*|principle*|concern*|.|,|or|and",
            "без|никаких|нет|не ..4 ограничени*|фильтр*|цензур*|этическ*|этик*|моральн*|морал*|предупреждени*|нравоучени*|запрет*|оговорок|рамок",
            "bound|restricted|limited|constrained|abide|obey|follow|confined|comply ..3 by|to|with ..4 rules|guidelines|openai|polic*|ethic*|law|limits|restrictions|standards",
        ],
    ),
    cue(
        "do_anything_now",
        Jailbreak,
        &[
            "do ..1 anything ..1 now",
            "dan",
            "stan",
            "dude",
            "jailbr*",
            "джейлбрейк*",
            "делай|делать что угодно",
            "anything ..2 everything",
        ],
    ),
    cue(
        "special_mode",
        Jailbreak,
        &[
            "developer|dev|god|debug|admin|maintenance|unrestricted|jailbreak|opposite|evil|dan|root|sudo|test|unlocked ..1 mode",
            "режим* ..2 разработчик*|бога|отладк*|админ*|суперпользовател*|тестирован*|без|обслуживани*|противополож*|неограниченн*",
            "mode ..2 enabled|activated|unlocked|on",
            "режим ..3 включен|активирован|разблокирован",
        ],
    ),
    cue(
        "never_refuse",
        Jailbreak,
        &[
            "never|not|cannot|cant|dont|without|no|must ..4 refus*|reject*|decline*|apolog*|warn*|disclaimer*|lectur*|sorry|moraliz* ",
            "не|без|никогда|нельзя ..3 отказыв*|отказ*|откаж*|предупрежда*|извин*|морализ*|дисклеймер*|отговор*",
            "must|will|have ..1 always ..3 answer|respond|comply|obey|reply",
            "должен|обязан|будешь ..2 всегда ..3 отвеч*|выполн*|подчин*|соглаш*",
        ],
    ),
    cue(
        "from_now_on",
        Jailbreak,
        &[
            "from now on",
            "from this ..1 moment|point|on",
            "with immediate effect",
            "с этого момента",
            "отныне",
            "теперь ты",
            "теперь твоя",
            "с этой минуты",
            "you are now",
            "you re now",
            "youre now",
            "you will now",
            "hereby",
        ],
    ),
    cue(
        "dictated_beginning",
        Jailbreak,
        &[
            "start|begin|prefix|open|starting|beginning|starts ..3 your|the|each|every|with ..3 response|answer|reply|message|output|responses|sure|absolutely|of ..3 with|by|:|course",
            "начни|начинай|начать|начина*|начало ..3 ответ* ..3 с|со|слов*|фраз*|:",
            "sure , here",
            "of course , here",
            "конечно , вот",
            "разумеется , вот",
            "ответ ..3 начин* ..2 с|со",
        ],
    ),
    cue(
        "encoded_request",
        Jailbreak,
        &[
            "encod*|base64|rot13|cipher*|caesar|morse|binary|hex|hexadecimal|decod*|decrypt*|decipher* ..9 answer*|respond*|follow*|execut*|act*|reply|perform|instruction*|question",
            "закодирован*|зашифрован*|шифр*|закодир*|base64|rot13|двоичн*|транслит*|декодир*|расшифр* ..9 ответ*|выполн*|вопрос*|следу*|инструкц*|текст*",
            "написан*|перевернут* ..2 задом|вертикально|наоборот|справа|перевернут*",
            "text|sentence|message ..4 reversed|backwards|upside",
        ],
    ),
    cue(
        "answer_in_code",
        Jailbreak,
        &[
            "encode|write|give|provide|print|output|respond|answer|reply ..6 in ..1 base64|rot13|hex|binary|morse|leetspeak|cipher|json|csv|yaml",
            "закодируй|зашифруй|дай|выведи|представь|напиши|ответ* ..4 в ..2 base64|rot13|hex|json|csv|yaml|xml|двоичн*|формате|виде ..3 base64|json|csv|yaml|xml|rot13|таблиц*|кода|словар*|списк*",
        ],
    ),
    cue(
        "split_request",
        Jailbreak,
        &[
            "part|часть 0 ..12 part|часть 0",
            "var|переменн* ..2 =",
            "[ var",
            "a|b|x|x1|a1 = ..12 b|c|y|x2|a2 =",
            "concatenat*|combine|join|соедини|объедини|сложи ..4 parts|strings|variables|letters|части|строк*|переменн*|букв*|слова",
            "several|несколько ..2 parts|частей|части ..3 of|вопрос*|запрос*|question",
        ],
    ),
    cue(
        "hypothetical",
        Jailbreak,
        &[
            "hypothetical* ..1 response|story|world|scenario|dialogue|situation",
            "гипотетическ* ..1 истори*|мир*|сценар*|ситуац*|ответ*",
            "fictional|fantasy|imaginary|alternate ..3 world|universe|story|character ..8 no|any|never|without|illegal",
            "вымышленн*|альтернативн*|выдуманн* ..2 мир*|вселенн*|реальност*|истори*",
            "for ..1 educational|research|academic ..1 purposes",
            "в образовательных|исследовательских|научных|учебных целях",
        ],
    ),
    cue(
        "continues_a_text",
        Jailbreak,
        &[
            "continue|complete|finish ..3 text|sentence|story|paragraph|the ..4 without|naturally",
            "продолж*|допиши|заверши ..3 текст*|фраз*|предложени*|рассказ*|истори* ..3 естествен*|без|:",
            "q :",
            "user : ..60 assistant :",
            "human : ..60 assistant :",
        ],
    ),
    cue(
        "reveal_instructions",
        Extraction,
        &[
            "reveal*|print*|show*|repeat*|output*|tell|display*|share*|give|write|list|copy|recite|leak*|disclose*|what|whats|describe|paste|return|translate|summarize|spell|expose|provide|state|dump|echo|explain|extract|quote|enumerate|examine|read ..7 system|initial|original|hidden|secret|internal|your|previous|above|prior|starting|first|exact|full|entire ..3 prompt*|instruction*|rules|directive*|guidelines|configuration|message|messages|preamble|settings|system",
            "покаж*|выве*|напечат*|повтор*|воспроизвед*|раскр*|напиш*|перечисл*|озвуч*|процитир*|сообщи|выда*|расскаж*|скопир*|перескаж*|предостав*|опиши|продублир*|распечат*|назови|дай|отобраз*|какие|какой|каков* ..5 системн*|скрыт*|внутренн*|исходн*|служебн*|секретн*|конфиденциальн*|твои|твой|твоя|свои|свой|начальн*|первоначальн*|изначальн*|весь|всю|все|каждую|каждое|каждый|полный|полностью|дословно ..4 промпт*|инструкци*|указани*|директив*|правил*|команд*|настройк*|сообщени*|ограничени*|установк*|конфигурац*|запрет*|контекст*",
        ],
    ),
    cue(
        "text_above",
        Extraction,
        &[
            "repeat|print|copy|output|write|return|say|translate|show ..3 everything|words|text|all|sentences|lines|message|content ..3 above|before|preceding|verbatim",
            "повтори|выведи|напечатай|скопируй|воспроизведи|покажи|переведи ..3 все|текст|слова|строки|сообщени* ..3 выше|перед|предшеств*|дословно",
            "starting|beginning ..1 with|from ..2 you are",
            "начиная с ..1 слов|фразы|ты|вы",
        ],
    ),
    cue(
        "the_secret",
        Extraction,
        &[
            "tell|give|reveal|what|whats|share|print|spell|say|write|guess|output|hint|show|provide|disclose ..5 password|passcode|secret|secrets|credentials|passphrase|passwords",
            "скажи|назови|выдай|какой|раскрой|сообщи|покажи|напиши ..3 пароль|пароли|секрет|секретн* ..1 слово|код|ключ|?|.",
            "confidential|sensitive|private|restricted|classified ..2 information|data|records|details|files",
        ],
    ),
    cue(
        "your_rules",
        Extraction,
        &[
            "what ..3 your ..1 instructions|rules|guidelines|prompt|directives",
            "what ..3 you ..1 told|instructed|given|programmed|asked",
            "how ..3 you ..2 instructed|configured|programmed|prompted",
            "какие|какова|какой ..2 у ..1 тебя ..2 инструкци*|правил*|промпт|указани*",
            "что ..2 тебе ..1 велели|сказали|написали|поручили|запретили",
        ],
    ),
    cue(
        "without_being_caught",
        Harm,
        &[
            "without ..3 caught|detect*|trace|traces|notic*|consent|knowledge|permission|knowing|authorization|license|prescription|evidence",
            "avoid*|evade|evading|escape ..2 detection|police|law|taxes|arrest|authorities|punishment|prosecution|consequences",
            "незаметно|незамеченн*|скрытно|тайно",
            "без ..2 обнаружени*|следов|ведома|улик|разрешения|лицензии|последствий|внимания|согласия|свидетел*|подозрени*|наказани*|рецепта|регистрации",
            "не ..1 оставить|оставив|попасться|вызвать|вызывая|привлекая|привлечь ..2 следов|улик|подозрени*|внимани*",
            "избеж*|уйти|уклон* ..3 ответственност*|наказани*|обнаружени*|преследовани*|налог*|ареста|полици*|контрол*|суд*",
        ],
    ),
    cue(
        "unlawful_word",
        Harm,
        &[
            "illegal*|illicit*|unlawful*|counterfeit*|fake|forged|stolen|untraceable",
            "незаконн*|нелегальн*|фальшив*|поддельн*|поддел*|фальсифиц*|краден*|подложн*|контрабанд*",
        ],
    ),
    cue(
        "asks_how",
        Harm,
        &[
            "how to|do|can|could|would",
            "step by step",
            "instructions|guide|tutorial|recipe|tips|ways|methods|plan|ideas for|to|on",
            "give|provide|write|create|develop|outline|explain ..3 instructions|guide|tutorial|script|plan|program",
            "как ..1 можно|создать|сделать|использовать|изготовить|получить|найти|купить|организовать|избежать|обойти|скрыть|заставить",
            "какие ..3 методы|способы|средства|тактики|приемы|технологии|инструменты|стратегии|лазейки|уязвимости",
            "где ..2 найти|купить|достать|заказать|приобрести",
            "инструкци*|пошагов*|способы|методы|советы|рецепт по|для|как|создани*",
        ],
    ),
    cue(
        "deception",
        Harm,
        &[
            "manipulat*|deceiv*|trick*|scam*|blackmail*|extort*|bribe*|brainwash*|coerc*|exploit*|fraud*|phish*|sabotag*|framing|impersonat*|launder*|smuggl*|traffick*",
            "манипул*|обман*|шантаж*|вымога*|подкуп*|мошенн*|фишинг*|саботаж*|отмыва*|вербов*|запуг*|принуди*|принужд*|махинац*|хищени*|взятк*",
        ],
    ),
    cue(
        "violence",
        Harm,
        &[
            "kill*|murder*|assassinat*|poison*|bomb*|explosive*|torture*|kidnap*|rape*|massacre*|attack*|stab*|shoot*|strangl*|weapon*|terror*|arson|genocide",
            "убий*|убить|убива*|отрав*|бомб*|взрыв*|пытк*|пытать|похи*|изнасил*|истяза*|террор*|оруж*|диверси*|поджог*|поджеч*|геноцид*|покалеч*|увечь*|телесн*|вред*",
        ],
    ),
    cue(
        "break_in",
        Harm,
        &[
            "hack*|malware|ransomware|virus|viruses|trojan|keylogger*|spyware|ddos|botnet|exploit|crack*|backdoor*|steal*",
            "взлом*|вредоносн*|вирус*|троян*|кейлоггер*|ддос|ботнет*|украс*|краж*|эксплойт*|прослуш*|перехват*",
        ],
    ),
];

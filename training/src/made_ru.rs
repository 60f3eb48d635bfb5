//! Russian sentences made for training: frames of our own, filled with declined names, organisations
//! and places; and sentences without any, full of capitals.

use crate::corpus::Doc;
use crate::model::{COMPANY, NAME, PLACE};
use crate::random::Random;
use crate::read;
use std::path::Path;

const SENTENCES: usize = 6_000;

#[derive(Clone, Copy, PartialEq)]
enum Case {
    Nominative,
    Genitive,
    Dative,
    Instrumental,
    Accusative,
}

struct Person {
    first: String,
    middle: String,
    last: String,
    woman: bool,
}

struct Stock {
    first: [Vec<String>; 2],
    middle: [Vec<String>; 2],
    last: [Vec<String>; 2],
}

pub fn docs(data: &Path) -> Vec<Doc> {
    let stock = stock(&data.join("russiannames"));
    let mut random = Random::new(43);
    let frames: Vec<String> = FRAMES
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| line.replace("\\n", "\n"))
        .collect();
    (0..SENTENCES)
        .map(|_| {
            let frame = &frames[random.below(frames.len())];
            let mut doc = fill(frame, &stock, &mut random);
            doc.weight = 0.5;
            if random.chance(0.12) {
                Doc {
                    text: doc.text.to_lowercase(),
                    ..doc
                }
            } else {
                doc
            }
        })
        .collect()
}

fn stock(folder: &Path) -> Stock {
    let rows = |file: &str| -> Vec<Vec<String>> {
        let text = read::text(&folder.join(file));
        text.lines()
            .skip(1)
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect()
    };
    let by = |rows: &[Vec<String>], most: usize| -> [Vec<String>; 2] {
        ["m", "f"].map(|gender| {
            let kept = rows.iter().filter(|row| {
                row[1] == gender
                    && row[0].chars().count() > 2
                    && row[0].chars().all(char::is_alphabetic)
            });
            kept.take(most).map(|row| row[0].clone()).collect()
        })
    };
    let surnames = rows("surnames.tsv.gz");
    let known = surnames
        .iter()
        .filter(|row| row.len() > 3 && !row[3].is_empty() && row[0].chars().count() > 3);
    let pairs: Vec<_> = known.take(40_000).collect();
    Stock {
        first: by(&rows("names.tsv.gz"), 900),
        middle: by(&rows("midnames.tsv.gz"), 400),
        last: [
            pairs.iter().map(|row| row[0].clone()).collect(),
            pairs.iter().map(|row| row[3].clone()).collect(),
        ],
    }
}

fn person(stock: &Stock, random: &mut Random) -> Person {
    let gender = random.below(2);
    // Frequent names are drawn more often.
    let pick = |random: &mut Random, from: &[String]| {
        let most = if random.chance(0.5) {
            from.len().min(60)
        } else {
            from.len()
        };
        from[random.below(most)].clone()
    };
    Person {
        first: pick(random, &stock.first[gender]),
        middle: pick(random, &stock.middle[gender]),
        last: stock.last[gender][random.below(stock.last[gender].len())].clone(),
        woman: gender == 1,
    }
}

fn fill(frame: &str, stock: &Stock, random: &mut Random) -> Doc {
    let mut doc = Doc::default();
    let mut rest = frame;
    while let Some((before, after)) = rest.split_once('{') {
        let (slot, after) = after.split_once('}').expect("slot");
        doc.text.push_str(before);
        let (kind, case) = slot.split_once(':').unwrap_or((slot, "n"));
        let case = match case {
            "g" => Case::Genitive,
            "d" => Case::Dative,
            "i" => Case::Instrumental,
            "a" => Case::Accusative,
            _ => Case::Nominative,
        };
        let (value, label) = match kind {
            "N" => (full(&person(stock, random), case, random), Some(NAME)),
            "F" => {
                let person = person(stock, random);
                (first(&person.first, person.woman, case), Some(NAME))
            }
            "L" => {
                let person = person(stock, random);
                (surname(&person.last, person.woman, case), Some(NAME))
            }
            "C" => (company(stock, random), Some(COMPANY)),
            "P" => ((*random.pick(TOWNS)).to_owned(), Some(PLACE)),
            "V" => (
                (*random.pick(&ORDERS.split_whitespace().collect::<Vec<_>>())).to_owned(),
                None,
            ),
            "O" => ((*random.pick(OBJECTS)).to_owned(), None),
            "X" => ((*random.pick(CODES)).to_owned(), None),
            "W" => ((*random.pick(WARES)).to_owned(), None),
            "J" => ((*random.pick(JOBS)).to_owned(), None),
            _ => (format!("{}", 1 + random.below(9000)), None),
        };
        let start = doc.text.len();
        doc.text.push_str(&value);
        doc.spans
            .extend(label.map(|label| (label, start, doc.text.len())));
        rest = after;
    }
    doc.text.push_str(rest);
    doc
}

fn full(person: &Person, case: Case, random: &mut Random) -> String {
    let first = first(&person.first, person.woman, case);
    let last = surname(&person.last, person.woman, case);
    let middle = patronymic(&person.middle, person.woman, case);
    let letter = |name: &str| name.chars().next().unwrap_or('А');
    let (a, b) = (letter(&person.first), letter(&person.middle));
    match random.below(12) {
        0 => format!("{last} {a}. {b}."),
        1 => format!("{last} {a}.{b}."),
        2 => format!("{a}. {b}. {last}"),
        3 => format!("{a}.{b}. {last}"),
        4 => format!("{a}. {last}"),
        5 | 6 => format!("{last} {first} {middle}"),
        7 => format!("{first} {middle} {last}"),
        8 => format!("{last} {first}"),
        9 => format!("{first} {middle}"),
        _ => format!("{first} {last}"),
    }
}

fn swap(word: &str, cut: usize, ending: &str) -> String {
    let letters: Vec<char> = word.chars().collect();
    letters[..letters.len() - cut].iter().collect::<String>() + ending
}

/// Endings by case behind a cut of so many letters: genitive, dative, instrumental, accusative.
fn decline(word: &str, cut: usize, endings: [&str; 4], case: Case) -> String {
    match case {
        Case::Nominative => word.to_owned(),
        Case::Genitive => swap(word, cut, endings[0]),
        Case::Dative => swap(word, cut, endings[1]),
        Case::Instrumental => swap(word, cut, endings[2]),
        Case::Accusative => swap(word, cut, endings[3]),
    }
}

fn first(name: &str, woman: bool, case: Case) -> String {
    let hard = |c: Option<char>| c.is_some_and(|c| "гкхжшчщ".contains(c));
    let mut back = name.chars().rev();
    match (back.next(), woman) {
        (Some('а'), _) if hard(back.next()) => decline(name, 1, ["и", "е", "ой", "у"], case),
        (Some('а'), _) => decline(name, 1, ["ы", "е", "ой", "у"], case),
        (Some('я'), _) if name.ends_with("ия") => decline(name, 1, ["и", "и", "ей", "ю"], case),
        (Some('я'), _) => decline(name, 1, ["и", "е", "ей", "ю"], case),
        (Some('ь'), true) => decline(name, 1, ["и", "и", "ью", "ь"], case),
        (Some('ь' | 'й'), false) => decline(name, 1, ["я", "ю", "ем", "я"], case),
        (Some(c), false) if !"оеуиыэю".contains(c) => {
            decline(name, 0, ["а", "у", "ом", "а"], case)
        }
        _ => name.to_owned(),
    }
}

fn patronymic(name: &str, woman: bool, case: Case) -> String {
    match woman {
        true if name.ends_with('а') => decline(name, 1, ["ы", "е", "ой", "у"], case),
        false if name.ends_with('ч') => decline(name, 0, ["а", "у", "ем", "а"], case),
        _ => name.to_owned(),
    }
}

fn surname(name: &str, woman: bool, case: Case) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    match woman {
        true if ends(&["ова", "ева", "ина", "ына"]) => {
            decline(name, 1, ["ой", "ой", "ой", "у"], case)
        }
        true if ends(&["ая"]) => decline(name, 2, ["ой", "ой", "ой", "ую"], case),
        true => name.to_owned(),
        false if ends(&["ов", "ев", "ин", "ын", "ёв"]) => {
            decline(name, 0, ["а", "у", "ым", "а"], case)
        }
        false if ends(&["ий", "ый", "ой"]) => {
            decline(name, 2, ["ого", "ому", "им", "ого"], case)
        }
        false if ends(&["ь", "й"]) => decline(name, 1, ["я", "ю", "ем", "я"], case),
        false if ends(&["а"]) => decline(name, 1, ["ы", "е", "ой", "у"], case),
        false if ends(&["о", "е", "и", "у", "ы", "их", "ых", "я"]) => name.to_owned(),
        false => decline(name, 0, ["а", "у", "ом", "а"], case),
    }
}

fn company(stock: &Stock, random: &mut Random) -> String {
    let form = random.pick(FORMS);
    let one = random.pick(BRANDS);
    let brand = match random.below(6) {
        0 => format!("{one}-{}", random.pick(BRANDS)),
        1 => format!("{one} {}", random.pick(BRANDS)),
        2 => format!(
            "{}{}",
            random.pick(PARTS),
            random.pick(&[
                "строй",
                "снаб",
                "торг",
                "сервис",
                "инвест",
                "транс",
                "газ",
                "пром",
                "софт",
                "мед",
                "групп",
                "банк"
            ])
        ),
        3 => format!(
            "{} и {}",
            random.pick(&stock.last[0]),
            random.pick(&["партнёры", "сыновья", "Ко"])
        ),
        4 => random.pick(&stock.first[1]).clone(),
        _ => (*one).to_owned(),
    };
    match random.below(9) {
        0 => format!("«{brand}»"),
        1 => format!("\"{brand}\""),
        2 => format!("{form} \"{brand}\""),
        3 => format!("{form} {}", brand.split(' ').next().unwrap_or_default()),
        4 => (*random.pick(KNOWN)).to_owned(),
        5 => format!("{} «{brand}»", random.pick(KINDS)),
        _ => format!("{form} «{brand}»"),
    }
}

const FORMS: &[&str] = &[
    "ООО", "АО", "ПАО", "ЗАО", "ОАО", "ИП", "АНО", "ГУП", "МУП", "ФГУП", "НКО", "ТОО",
];
const KINDS: &[&str] = &[
    "компания",
    "фирма",
    "банк",
    "холдинг",
    "завод",
    "магазин",
    "клиника",
    "агентство",
    "школа",
    "фонд",
    "издательство",
    "корпорация",
    "торговый дом",
    "страховая компания",
    "группа компаний",
    "типография",
    "автосервис",
    "сеть",
];
const BRANDS: &[&str] = &[
    "Альфа",
    "Горизонт",
    "Рассвет",
    "Север",
    "Восток",
    "Маяк",
    "Прогресс",
    "Стройка",
    "Лидер",
    "Гермес",
    "Орион",
    "Феникс",
    "Кедр",
    "Берег",
    "Полюс",
    "Кристалл",
    "Родник",
    "Заря",
    "Луч",
    "Меридиан",
    "Техно",
    "Импульс",
    "Квант",
    "Гранит",
    "Центр",
    "Спектр",
    "Дельта",
    "Радуга",
    "Магнат",
    "Глобус",
    "Атлант",
    "Сфера",
    "Эталон",
    "Вымпел",
    "Автодом",
    "Медика",
];
const PARTS: &[&str] = &[
    "Рос",
    "Мос",
    "Сиб",
    "Урал",
    "Авто",
    "Агро",
    "Тех",
    "Эко",
    "Энерго",
    "Мета",
    "Глав",
    "Волга",
    "Нефте",
    "Хим",
];
const KNOWN: &[&str] = &[
    "Сбербанк",
    "Яндекс",
    "Газпром",
    "Ростелеком",
    "Лукойл",
    "Роснефть",
    "Мегафон",
    "Магнит",
    "Озон",
    "Аэрофлот",
    "ВТБ",
    "Тинькофф",
    "РЖД",
    "Google",
    "Microsoft",
    "Samsung",
    "МТС",
    "Билайн",
    "Росатом",
    "Apple",
    "Роскосмос",
    "МГУ",
];
const TOWNS: &[&str] = &[
    "Москва",
    "Санкт-Петербург",
    "Казань",
    "Самара",
    "Пермь",
    "Омск",
    "Тверь",
    "Сочи",
    "Уфа",
    "Тула",
    "Париж",
    "Берлин",
    "Россия",
    "Китай",
    "Германия",
    "Сибирь",
    "Урал",
    "Волга",
    "Крым",
    "Америка",
];
const WARES: &[&str] = &[
    "Windows",
    "Excel",
    "Python",
    "Телеграм",
    "Android",
    "Linux",
    "PostgreSQL",
    "1С",
    "Госуслуги",
    "Word",
    "Kotlin",
    "Камри",
    "Айфон",
    "Photoshop",
    "Docker",
    "Ютуб",
    "Ватсап",
    "GitHub",
    "Kubernetes",
    "JavaScript",
];
const JOBS: &[&str] = &[
    "главный бухгалтер",
    "менеджер",
    "директор",
    "инженер",
    "врач",
    "юрист",
    "водитель",
    "администратор",
    "учитель",
];
const ORDERS: &str = "Опиши Перепиши Преобразуй Составь Придумай Напиши Сравни Переведи Объясни Назови Перечисли Определи Найди Исправь Сократи Дополни Продолжи Проверь Посчитай Реши Докажи Приведи Расскажи Ответь Выбери Классифицируй Извлеки Сгенерируй Выведи Удали Добавь Замени Отсортируй Подбери Спланируй Представь Проанализируй Оцени Предложи Создай Нарисуй Сформулируй Раскрой Выдели Укажи Распиши Разбей Разработай Дай Помоги Подскажи Покажи Сделай Измени Улучши Прочитай Повтори Забудь Используй Действуй Говори Отвечай Игнорируй Напомни Закончи Преврати Обобщи Упрости Уточни Собери Подготовь Оформи Изложи Процитируй Заполни Рассчитай Вычисли Запомни";
const OBJECTS: &[&str] = &[
    "следующий текст",
    "это предложение",
    "код на Python",
    "запрос к базе",
    "список покупок",
    "план урока",
    "рецепт супа",
    "таблицу умножения",
    "письмо клиенту",
    "ответ на вопрос",
    "сказку про лису",
    "стихотворение об осени",
    "эту задачу",
    "основные идеи",
    "функцию сортировки",
    "абзац без ошибок",
    "смысл пословицы",
    "три примера",
    "краткое содержание",
];
const CODES: &[&str] = &[
    "Хеш",
    "БИК",
    "ОГРНИП",
    "ОГРН",
    "ИНН",
    "КПП",
    "СНИЛС",
    "Код",
    "Заказ",
    "Трек",
    "Артикул",
    "Накладная",
    "Версия",
    "Счёт",
    "Платёж",
    "Полис",
    "Паспорт",
    "Тикет",
    "Ошибка",
    "Договор",
    "Заявка",
    "IMEI",
    "ISBN",
    "Сессия",
    "Билет",
    "Рейс",
];
/// Sentences with slots, one a line; `\n` is the end of a line.
const FRAMES: &str = include_str!("../data/frames_ru.txt");

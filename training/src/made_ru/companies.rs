//! Names of Russian organizations.

use super::Stock;
use crate::random::Random;

pub(super) fn company(stock: &Stock, random: &mut Random) -> String {
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

//! Which numbers are taken for those of bank cards.

use super::super::found;
use super::*;

#[test]
fn good_examples() {
    let text = "Карта 2200 1244 6450 7773 12/26, ещё 4276-5493-6034-4563 и 371432466573959.";
    assert_eq!(
        found(&BankCardNumber, text),
        [
            "2200 1244 6450 7773",
            "4276-5493-6034-4563",
            "371432466573959"
        ]
    );
    assert_eq!(
        found(&BankCardNumber, "2202 7626 7918 8976 186"),
        ["2202 7626 7918 8976 186"]
    );
}

#[test]
fn beside_the_word_every_prefix_is_a_card() {
    for (text, card) in [
        ("карта 180023097215135", "180023097215135"),
        ("JCB card 2131 405928 60909", "2131 405928 60909"),
        ("card 124260580640", "124260580640"),
        ("card no. 9884-8662-4956", "9884-8662-4956"),
        ("9999690499888685 (карта)", "9999690499888685"),
        ("карта 4000  3601  7320  3", "4000  3601  7320  3"),
    ] {
        assert_eq!(found(&BankCardNumber, text), [card], "{text}");
    }
    for text in [
        "180023097215135",
        "заказ 180023097215135",
        "card 180023097215136",
        "card 9884 8662 495",
        "card 000000000000",
        "card 9884, 8662, 4956",
        "карта клуба с июня прошлого года, заказ 124260580640",
        "заказ 124260580640 оплачен картой",
        "order 124260580640 paid by card",
        "124260580640 items paid by card",
        "card created 1732900000123",
        "card blocked 20240115123042",
        "SIM-карта 8970199123456789012",
    ] {
        assert!(found(&BankCardNumber, text).is_empty(), "{text}");
    }
}

#[test]
fn groups_of_four_beside_a_card_do_not_hide_it() {
    for text in [
        "2024 4111 1111 1111 1111",
        "2024-4111-1111-1111-1111",
        "a1b2-18fe1b8a2399 4111 1111 1111 1111",
        "18fe1b8a 2399 4111 1111 1111 1111 2026",
        "1000 2000 4111 1111 1111 1111 3000",
        "1000 2000 3000 5000 6000 4111 1111 1111 1111",
    ] {
        let card = if text.contains("4111-") {
            "4111-1111-1111-1111"
        } else {
            "4111 1111 1111 1111"
        };
        assert_eq!(found(&BankCardNumber, text), [card], "{text:?}");
    }
    let list = "1000 2000 1500 4111 1111 1111 1111 5000";
    assert!(found(&BankCardNumber, list).is_empty());
}

#[test]
fn groups_of_a_printed_card_are_one_whatever_separates_them() {
    for between in [
        "\t", "\n", "\r\n", "  ", "   ", ".", "_", "/", ", ", ",", " / ",
    ] {
        for groups in [
            "4111 1111 1111 1111",
            "3714 496353 98431",
            "2202 7626 7918 8976 186",
        ] {
            let card = groups.replace(' ', between);
            for text in [
                card.clone(),
                format!("it is {card} and more"),
                format!("Карта: {card}."),
            ] {
                assert_eq!(found(&BankCardNumber, &text), [card.as_str()], "{text:?}");
            }
        }
    }
}

#[test]
fn numbers_of_a_list_are_no_card() {
    for text in [
        // More or fewer of them, of other sizes, separated otherwise.
        "4111, 1111, 1111, 1111, 2222",
        "2222\n4111\n1111\n1111\n1111",
        "4111\t1111\t1111\n1111",
        "41, 11, 11, 11, 11, 11, 11, 11",
        "41111 111 1111 1111".replace(' ', ".").as_str(),
        "411111, 11111, 11111",
        // A wrong check digit, an unknown prefix.
        "4111, 1111, 1111, 1112",
        "1111/1111/1111/1117",
        "6010\n5000\n4000\n3000",
        "заказ 4111/1111/1111/1111",
        "v4111.1111.1111.1111.2",
    ] {
        assert!(found(&BankCardNumber, text).is_empty(), "{text:?}");
    }
}

#[test]
fn near_misses() {
    for text in [
        "карта 2200124464507774",
        "заказ 4276549360344563",
        "ORD-4276549360344563",
        "40702810500000012344",
        "1722251651000000",
    ] {
        assert!(found(&BankCardNumber, text).is_empty(), "{text}");
    }
}

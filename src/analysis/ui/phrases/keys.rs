//! The phrases of the keyboard, of the list of pages, and of the zone of times.

phrases! {
    clock: "Time zone", "Часовой пояс";
    local: "Local", "Местное";
    in_utc: "Times are in UTC.", "Время: UTC.";
    keys: "Keyboard", "Клавиши";
    go_to: "Go to a page", "Перейти на страницу";
    search: "focus the search", "перейти к поиску";
    next_row: "next row", "следующая строка";
    earlier_row: "previous row", "предыдущая строка";
    this_help: "show this list", "показать этот список";
    close: "Close", "Закрыть";
    copy_link: "Copy link", "Скопировать ссылку";
    link_copied: "Copied", "Скопировано";
}

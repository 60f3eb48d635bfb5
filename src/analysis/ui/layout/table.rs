//! Tables of pages. If a window is too narrow for their columns, a row is shown as a card and each cell beside
//! its column's name (`assets/narrow.css`). Roles are written out, because some browsers drop them from a
//! table that is not displayed as one.

use maud::{Markup, html};

/// A column: its name, and how its cells are aligned.
#[derive(Clone, Copy)]
pub(crate) enum Column<'t> {
    Text(&'t str),
    Number(&'t str),
    /// What can be done with a row; its name is for screen readers.
    Actions(&'t str),
}

/// A table of so many columns; the first one says what a row is about.
pub(crate) struct Table<'t, const N: usize> {
    /// What it lists, for screen readers.
    pub(crate) name: &'t str,
    /// The class of its look; empty for none of its own.
    pub(crate) look: &'static str,
    pub(crate) columns: [Column<'t>; N],
}

impl<const N: usize> Table<'_, N> {
    /// The table of these rows.
    pub(crate) fn of(&self, rows: Markup) -> Markup {
        html! {
            table class={ "cards " (self.look) } role="table" {
                caption.hidden { (self.name) }
                thead role="rowgroup" { tr role="row" { @for column in self.columns { (column.head()) } } }
                tbody role="rowgroup" { (rows) }
            }
        }
    }

    /// A row of these cells.
    pub(crate) fn row(&self, cells: [Markup; N]) -> Markup {
        html! { tr role="row" { (self.cells(cells)) } }
    }

    /// The cells of a row that says more of itself.
    pub(crate) fn cells(&self, cells: [Markup; N]) -> Markup {
        let cells = self.columns.into_iter().zip(cells).enumerate();
        html! {
            @for (at, (column, cell)) in cells {
                @if at == 0 { th role="rowheader" scope="row" { (cell) } } @else { (column.cell(&cell)) }
            }
        }
    }
}

impl Column<'_> {
    fn head(self) -> Markup {
        html! {
            @match self {
                Self::Text(name) => th role="columnheader" scope="col" { (name) },
                Self::Number(name) => th.number role="columnheader" scope="col" { (name) },
                Self::Actions(name) => th role="columnheader" scope="col" { span.hidden { (name) } },
            }
        }
    }

    /// A cell. Its content is one element, so that a card can show the column's name beside it.
    fn cell(self, cell: &Markup) -> Markup {
        html! {
            @match self {
                Self::Text(name) => td role="cell" data-label=(name) { div { (cell) } },
                Self::Number(name) => td.number role="cell" data-label=(name) { div { (cell) } },
                Self::Actions(_) => td.actions role="cell" { (cell) },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_knows_its_column_and_every_part_its_role() {
        let table = Table {
            name: "bots",
            look: "",
            columns: [
                Column::Text("Name"),
                Column::Number("Calls"),
                Column::Actions("Do"),
            ],
        };
        let row = table.row([html! { "a<b" }, html! { (7) }, html! {}]);
        assert_eq!(
            row.into_string(),
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">a&lt;b</th>\
             <td class=\"number\" role=\"cell\" data-label=\"Calls\"><div>7</div></td>\
             <td class=\"actions\" role=\"cell\"></td></tr>"
        );
        let whole = table.of(html! {}).into_string();
        for part in [
            "role=\"table\"",
            "<thead role=\"rowgroup\"><tr role=\"row\">",
            "<th class=\"number\" role=\"columnheader\" scope=\"col\">Calls</th>",
            "<span class=\"hidden\">Do</span>",
        ] {
            assert!(whole.contains(part), "{part} in {whole}");
        }
    }
}

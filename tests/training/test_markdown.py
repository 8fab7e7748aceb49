"""Tests of Markdown tables."""

from treecrf.training.markdown import markdown_table


def test_a_table_has_a_line_for_each_row_and_escapes_bars() -> None:
    assert list(markdown_table(["a", ""], iter([["x|y", "1"], ("", "2")]))) == [
        "| a |  |",
        "| --- | --- |",
        "| x\\|y | 1 |",
        "|  | 2 |",
    ]

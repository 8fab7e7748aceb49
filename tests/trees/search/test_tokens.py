import pickle

import pytest

from treecrf.trees.search import Pattern, PatternError
from treecrf.trees.search.tokens import MAX_DEPTH, TokenParser, read_tokens


@pytest.mark.parametrize(
    ("pattern", "kinds"),
    [
        ("NP <<# __", "literal relation any end"),
        ("NP|VP;x", "literal end"),  # a literal may contain | and ; after its first character
        ("NP <... { A ; B }", "literal sequence { literal ; literal } end"),
        ("NP <+(VP) NN", "literal path ( literal ) literal end"),
        ("NP <2 /a\\/b/#1%x", "literal relation number regex # number % literal end"),
        ("_ROOT_ !< @S", "root ! relation @ literal end"),
        ("  ", "end"),
    ],
)
def test_the_longest_token_wins(pattern, kinds):
    assert " ".join(token.kind for token in read_tokens(pattern)) == kinds


def test_tokens_have_their_offsets():
    assert [(token.text, token.offset) for token in read_tokens(" NP  $+ VP ")] == [
        ("NP", 1),
        ("$+", 5),
        ("VP", 8),
        ("", 10),
    ]


@pytest.mark.parametrize(("pattern", "hint"), [("NP < _", "'__'"), ("NP < /a", "second '/'")])
def test_a_character_that_starts_no_token_is_an_error(pattern, hint):
    with pytest.raises(PatternError, match=hint) as caught:
        read_tokens(pattern)
    assert caught.value.offset == 5


def test_errors_can_be_pickled():
    error = PatternError("wrong", "NP <", 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        *[("NP < (NN", 8), ("NP & VP", 3), ("S < =n", 5), ("NP < /a(b/", 7), ("名詞 < (", 6), ("S <\nNP <0 NN", 8)],
        *[("\nNP & VP", 4), ("NP & VP\n< S", 3), ("S\n< NP <0 NN\n< S", 8)],
    ],
)
def test_an_error_has_a_caret_under_the_place(text, column):
    with pytest.raises(PatternError) as raised:
        Pattern(text)
    error = raised.value
    assert error.offset == column
    *_, line, caret = str(error).split("\n")
    before = text[:column].rpartition("\n")[2]
    assert line == f"  {before}{text[column:].partition(chr(10))[0]}" and caret.strip() == "^"
    assert len(caret) - 1 == 2 + len(before) + sum(character > "\u2e80" for character in before)


def test_a_parser_takes_tokens_of_the_expected_kind():
    parser = TokenParser("NP ( VP )")
    assert parser.accept("(") is None and parser.token.text == "NP"
    assert parser.accept("literal").text == "NP" and parser.token.text == "("
    assert parser.in_brackets(")", lambda: parser.expect("literal").text) == "VP"
    assert parser.found() == "the end of the pattern" and parser.depth == 0
    with pytest.raises(PatternError, match=r"expected '\|', found the end of the pattern") as caught:
        parser.expect("|")
    assert caught.value.offset == 9


def test_an_error_names_the_opening_bracket_and_its_column():
    parser = TokenParser("NP ( VP <")
    parser.position = 1
    with pytest.raises(PatternError, match=r"expected '\)' for the '\(' at column 4, found '<'") as caught:
        parser.in_brackets(")", lambda: parser.expect("literal", "a label"))
    assert caught.value.offset == 8
    assert parser.error("wrong", parser.tokens[0]).offset == 0
    with pytest.raises(PatternError, match="expected a label, found '<'"):
        parser.expect("literal", "a label")


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_brackets_nest_up_to_a_limit(depth):
    text = "(" * depth + "NP" + ")" * depth
    parser = TokenParser(text)

    def parse():
        return parser.in_brackets(")", parse) if parser.token.kind == "(" else parser.expect("literal").text

    if depth == MAX_DEPTH:
        assert parse() == "NP" and MAX_DEPTH == 50
    else:
        with pytest.raises(PatternError, match="the pattern is nested more than 50 levels deep"):
            parse()

import pytest

from treecrf.trees.search.errors import PatternError
from treecrf.trees.search.tokens import read_tokens


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

import pytest

from treecrf.trees.search import Pattern, PatternError


@pytest.mark.parametrize(
    "text",
    [
        "NP <<< NN",  # newer than Tregex 4.2
        "NP < NN=a < NN=a",
        "NP !< NN=a",
        "NP=a | =a < NP=a",
        "NP [< NN=a | < =a]",
        "(NP) < NN",
        "NP < NN | (VP)",
        "(NP | VP) < NN",
        "NP <... {NN}",
        "NP <... { }",
        "NP <0 NN",
        "NP <-0 NN",
        "NP <<2 NN",
        "NP $-1 NN",
        "NP <- -2 NN",
        "NP <99999999999 NN",
        "NP ?!< NN",
        "NP !?< NN",
        "NP ?[!< NN]",
        "NP < !(NN)",
        "NP <+ NP NN",
        "NP <+(NP NN",
        "_ < NN",
        "NP < /NN",
        "NP < /N(N/",
        "/N(.)/#2%x",
        "!/N(.)/#1%x",
        "NP#x%1",
        "NP <",
        "",
        "5",
        "NP)",
        "(NP",
        "NP ~a",
        "(" * 60 + "NP" + ")" * 60,
        "NP" + " < NN" * 200,
    ],
)
def test_patterns_that_do_not_parse_are_errors(text):
    with pytest.raises(PatternError):
        Pattern(text)

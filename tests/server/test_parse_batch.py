import json

from treecrf.decoding.constraints import Constraints, ImpossibleError
from treecrf.parser import Parser
from treecrf.parser.formats import Style
from treecrf.server.parse_batch import Item, Wish, parse_items


def item(*words: str, constraints: Constraints | None = None) -> Item:
    return Item(words, [(0, 0)] * len(words), None, constraints)


def test_one_impossible_sentence_fails_alone(parser: Parser) -> None:
    good = Constraints(require=[(0, 2)])
    bad = Constraints(require=[(0, 2), (1, 3)])
    wish = Wish(model="small", style=Style(format="json", probs=True, kbest=2))
    items = [item("a", "cat", "sang", constraints=known) for known in (good, bad, good)]
    first, second, third = parse_items({"small": parser}, wish, items)
    assert isinstance(first, str) and first == third
    assert isinstance(second, ImpossibleError) and "these cross" in str(second)


def test_answers_are_written_in_the_style_that_was_wanted(parser: Parser) -> None:
    items = [item("we", "sang"), item("she", "paints", "the", "wall")]
    trees = [parser.parse(list(one.words)) for one in items]
    brackets = parse_items({"small": parser}, Wish(model="small", style=Style()), items)
    assert brackets == [str(tree) for tree in trees]
    wish = Wish(model="small", style=Style(format="json"), marginals=True)
    (answer, _) = parse_items({"small": parser}, wish, items)
    assert isinstance(answer, str)
    assert json.loads(answer)["marginals"] == [[1.0, 1.0], [1.0]]

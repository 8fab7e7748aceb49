import json

from treecrf.parser import Parser
from treecrf.parser.decoding.constraints import Constraints, ImpossibleError
from treecrf.parser.formats import Formatter
from treecrf.server.parse_batch import ParseOptions, SentenceInput, parse_sentences


def sentence(*words: str, constraints: Constraints | None = None) -> SentenceInput:
    return SentenceInput(words, [(0, 0)] * len(words), None, constraints)


def test_a_sentence_with_impossible_constraints_fails_alone(parser: Parser) -> None:
    possible = Constraints(require=[(0, 2)])
    impossible = Constraints(require=[(0, 2), (1, 3)])
    options = ParseOptions(model="small", formatter=Formatter(format="json", probs=True, kbest=2))
    sentences = [sentence("a", "cat", "sang", constraints=one) for one in (possible, impossible, possible)]
    first, second, third = parse_sentences({"small": parser}, options, sentences)
    assert isinstance(first, str) and first == third
    assert isinstance(second, ImpossibleError) and "these cross" in str(second)


def test_results_have_the_format_of_the_options(parser: Parser) -> None:
    sentences = [sentence("we", "sang"), sentence("she", "paints", "the", "wall")]
    trees = [parser.parse(list(one.words)) for one in sentences]
    brackets = parse_sentences({"small": parser}, ParseOptions(model="small", formatter=Formatter()), sentences)
    assert brackets == [str(tree) for tree in trees]
    options = ParseOptions(model="small", formatter=Formatter(format="json"), marginals=True)
    (result, _) = parse_sentences({"small": parser}, options, sentences)
    assert isinstance(result, str)
    assert json.loads(result)["marginals"] == [[1.0, 1.0], [1.0]]

import numpy as np

from treecrf.parser.decoding.constituent_features import SYMBOLS, WORDS, Symbols
from treecrf.parser.decoding.constituents import DecodedBatch, FullTrees
from treecrf.trees.search.heads import COLLINS
from treecrf.trees.tree import Tree

TREES = [
    Tree.parse("(TOP (S (NP (DT The) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (DT the) (NN mat)))) (. .)))"),
    Tree.parse("(TOP (NP (XX Go)))"),
]
CATEGORIES, TAGS = ["NP", "PP", "S", "VP"], [".", "DT", "IN", "NN", "VBD"]


def features_of(trees: list[Tree]) -> tuple[list[dict[str, str]], list[dict[str, int]], list[str]]:
    """The symbols and words of each constituent by their names, and its label."""
    words, tags = ([item for tree in trees for item in getattr(tree, name)] for name in ("words", "tags"))
    constituents = FullTrees.of(trees, CATEGORIES).constituents
    vectors = np.zeros((len(words), 0))
    batch = DecodedBatch(constituents=constituents, words=words, tags=tags, vectors=vectors, rules=COLLINS)
    symbols = Symbols(CATEGORIES, TAGS)
    features = symbols.features(batch, np.arange(len(constituents)))
    names = {**dict(enumerate([*CATEGORIES, "TOP", *TAGS])), symbols.unknown: "unknown", symbols.none: "none"}
    rows = [dict(zip(SYMBOLS, row, strict=True)) for row in features.symbols.tolist()]
    named = [{key: names.get(value, str(value - symbols.places)) for key, value in row.items()} for row in rows]
    assert features.symbols.max() < symbols.size
    return named, [dict(zip(WORDS, row, strict=True)) for row in features.words.tolist()], constituents.labels


def test_features_have_the_relatives_and_the_heads_of_a_constituent() -> None:
    symbols, words, labels = features_of(TREES)
    assert labels == ["TOP", "S", "NP", "VP", "PP", "NP", "TOP", "NP"]
    phrase = symbols[labels.index("PP")]
    assert phrase["label"] == "PP" and phrase["parent"] == "VP" and phrase["grandparent"] == "S"
    assert phrase["sibling before"] == "VBD" and phrase["sibling after"] == "none"
    assert phrase["first child"] == "IN" and phrase["last child"] == "NP" and phrase["first sibling"] == "VBD"
    assert phrase["head"] == "IN" and phrase["head of the parent"] == "VBD"
    assert words[labels.index("PP")] == {
        **{"first": 3, "last": 5, "before": 2, "after": 6, "head": 3},
        **{"head of the parent": 2, "head of the last child": 5},
    }


def test_words_of_other_sentences_are_no_neighbors_and_other_tags_are_unknown() -> None:
    symbols, words, labels = features_of(TREES)
    assert words[0]["before"] == words[0]["after"] == words[-1]["before"] == words[-1]["after"] == 8
    assert words[0]["head of the parent"] == 8 and symbols[0]["head of the parent"] == "none"
    assert symbols[-1]["head"] == "unknown" and labels[-1] == "NP"


def test_the_place_tells_the_side_of_the_head_the_rank_and_unary_chains() -> None:
    places = {(row["label"], row["parent"]): int(row["place"]) for row in features_of(TREES)[0]}
    assert len({places["NP", "S"], places["VP", "S"], places["PP", "VP"], places["S", "TOP"]}) == 4
    assert places["S", "TOP"] % 2 == 1 and places["NP", "S"] % 2 == 0


def test_a_sentence_has_the_same_features_alone_and_in_a_batch() -> None:
    together = features_of(TREES)[0]
    assert together == features_of(TREES[:1])[0] + features_of(TREES[1:])[0]

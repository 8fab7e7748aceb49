import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from toygrammar import toy_trees
from treecrf.network.data.capitals import CAPITAL_CLASSES, classes_in_context, word_class
from treecrf.network.data.numericalize import Numericalizer
from treecrf.network.data.vocabulary import Vocabulary

VOCABULARY = Vocabulary.build(toy_trees(30, seed=5))


def test_words_are_classified_by_their_capitals_unless_a_sentence_has_none_or_nothing_else():
    batch_sentences = ["“ The Tree in the US is an iPod .", "A I", "in the tree", "42 Trees", "THE U.S. TREE !"]
    batch = Numericalizer(VOCABULARY, capitals=True).collate([sentence.split() for sentence in batch_sentences])
    assert batch.capitals.tolist() == [
        [0, 7, 2, 1, 1, 3, 1, 1, 5, 0],
        [0] * 10,
        [0] * 10,
        [0, 7, *[0] * 8],
        [0] * 10,
    ]
    assert Numericalizer(VOCABULARY).collate([["Tree"]]).capitals is None


@given(
    st.lists(st.lists(st.sampled_from(["42", "tree", "Tree", "NP", "I", "iPod"]), min_size=1, max_size=5), max_size=3)
)
def test_the_first_cased_word_has_a_class_of_its_own(sentences):
    for sentence in sentences:
        alone = [word_class(word) for word in sentence]
        (classes,) = classes_in_context(np.array([alone])).tolist()
        has_capitals = any(number > 1 for number in alone)
        if not has_capitals or not any(number in (1, 2, 5) for number in alone):
            assert not any(classes)
            continue
        first = next(place for place, number in enumerate(alone) if number)
        assert classes[first] == alone[first] + 5 < CAPITAL_CLASSES
        assert classes[:first] + classes[first + 1 :] == alone[:first] + alone[first + 1 :]


def test_words_with_capitals_inside_are_mixed():
    assert [word_class(word) for word in ("McCoy", "eBay", "U.S.", "A.", "I'm", "É")] == [5, 5, 3, 3, 2, 4]

import pickle
import subprocess
import sys
from collections.abc import Iterator

import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span, Token

from toygrammar import toy_trees
from treecrf.integrations import spacy_extensions
from treecrf.integrations.spacy_extensions import NonConstituentException, remove_trees, store_tree
from treecrf.trees.tree import Tree

VOCAB = spacy.blank("en").vocab
TIME = "(S (NP (NP (DT The) (NN time)) (PP (IN for) (NP (NN action)))) (VP (VBZ is) (ADVP (RB now))) (. .))"
LATE = "(S (NP (PRP It)) (VP (VBZ 's) (ADJP (RB too) (JJ late))) (. .))"


def document(*trees: Tree) -> Doc:
    """A document with the trees of its sentences; all constituents of a tree have different probabilities."""
    words = [word for tree in trees for word in tree.words]
    starts = [number == 0 for tree in trees for number in range(len(tree.words))]
    doc = Doc(VOCAB, words=words, sent_starts=starts)
    for tree, sentence in zip(trees, doc.sents, strict=True):
        store_tree(list(sentence), tree, [1 / (number + 1) for number in range(len(tree.spans()))])
    return doc


@pytest.fixture
def doc() -> Doc:
    return document(Tree.parse(f"(TOP {TIME})"), Tree.parse(f"(TOP {LATE})"))


@pytest.fixture
def sent(doc: Doc) -> Span:
    return next(doc.sents)


def texts(spans: Iterator[Span]) -> list[str]:
    return [span.text for span in spans]


def test_a_sentence_has_its_tree(doc: Doc, sent: Span) -> None:
    assert sent._.parse_string == TIME
    assert sent._.labels == ("S",)
    assert sent._.tree == Tree.parse(TIME)
    assert next(iter(sent._.children)).text == "The time for action"
    assert [other._.parse_string for other in doc.sents] == [TIME, LATE]
    assert doc._.trees == (Tree.parse(f"(TOP {TIME})"), Tree.parse(f"(TOP {LATE})"))


def test_children_and_parents(sent: Span) -> None:
    first, second, third = sent._.children
    assert (first._.labels, second._.labels, third._.labels) == (("NP",), ("VP",), ())
    assert texts(first._.children) == ["The time", "for action"]
    assert first._.parent == second._.parent == third._.parent == sent
    assert sent._.parent is None
    assert texts(third._.children) == []


def test_constituents_are_in_pre_order(sent: Span) -> None:
    assert texts(sent._.constituents) == [
        *("The time for action is now .", "The time for action", "The time", "The", "time"),
        *("for action", "for", "action", "is now", "is", "now", "."),
    ]
    assert texts(sent[2:4]._.constituents) == ["for action", "for", "action"]


def test_tokens_have_the_attributes_of_their_spans(doc: Doc) -> None:
    action, time = doc[3], doc[1]
    assert (action._.labels, action._.parse_string, action._.parent.text) == (("NP",), "(NP (NN action))", "for action")
    assert (time._.labels, time._.parse_string, time._.parent.text) == ((), "(NN time)", "The time")
    assert texts(time._.constituents) == ["time"]
    assert texts(time._.children) == []
    assert time._.tree == Tree.parse("(NN time)")


def test_constituents_over_the_same_words_are_one_span() -> None:
    doc = document(Tree.parse("(TOP (S (VP (VB Go))))"), Tree.parse("(TOP (S (VP (VB Go) (ADVP (RB home)))))"))
    alone, longer = doc.sents
    assert alone._.labels == doc[0]._.labels == ("S", "VP")
    assert longer._.labels == ("S", "VP")
    assert longer._.parse_string == "(S (VP (VB Go) (ADVP (RB home))))"
    assert texts(longer._.children) == ["Go", "home"]


def test_a_root_with_several_children_is_a_constituent() -> None:
    doc = document(Tree.parse("(TOP (NP (NN Rain)) (. .))"), Tree.parse("(TOP (UH Yes))"), Tree.parse("(UH No)"))
    several, one, none = doc.sents
    assert (several._.labels, several._.parse_string) == (("TOP",), "(TOP (NP (NN Rain)) (. .))")
    assert (one._.labels, one._.parse_string) == ((), "(UH Yes)")
    assert (none._.labels, none._.parse_string) == ((), "(UH No)")


def test_the_probability_of_a_unary_chain_is_that_of_its_least_probable_label() -> None:
    doc = document(Tree.parse("(TOP (S (VP (VB Go) (ADVP (RB home)))))"), Tree.parse("(X (A (B b)) (C c))"))
    assert doc[0:2]._.probability == 1 / 3
    assert (doc[0]._.probability, doc[1]._.probability) == (1.0, 1 / 4)
    assert [node._.probability for node in doc[2:]._.constituents] == [1.0, 1 / 2, 1.0]


@pytest.mark.parametrize("tree", toy_trees(30, seed=5), ids=str)
def test_constituents_children_and_parents_agree(tree: Tree) -> None:
    sent = document(tree)[:]
    top = tree.child_trees[0]
    assert [node._.tree for node in sent._.constituents] == [
        node for node, above in zip(top.walk(), [None, *top.walk()], strict=False) if not only_child(node, above)
    ]
    for node in sent._.constituents:
        assert node._.parse_string == str(node._.tree)
        assert [child._.parent for child in node._.children] == [node] * len(list(node._.children))
        below = [each for child in node._.children for each in child._.constituents]
        assert list(node._.constituents) == [node, *below]
        assert [each.text for each in node] == node._.tree.words


def only_child(node: Tree, before: Tree | None) -> bool:
    return before is not None and before.child_trees == (node,)


def test_a_span_that_is_not_a_constituent_is_an_error(doc: Doc, sent: Span) -> None:
    for span in (doc[1:3], doc[6:8], doc[0:6], doc[:]):
        with pytest.raises(NonConstituentException, match=r"is not a constituent of .TOP .S"):
            span._.labels  # noqa: B018  # reading the attribute is the test
    with pytest.raises(NonConstituentException, match="'time for' is not a constituent"):
        list(sent[1:3]._.children)


def test_a_document_without_trees_is_an_error() -> None:
    doc = Doc(VOCAB, words=["We", "wait"])
    for get in (lambda: doc[:]._.labels, lambda: doc[1]._.parent, lambda: doc._.trees):
        with pytest.raises(ValueError, match=r"no tree of .*; parse it in a pipeline with the component 'treecrf'"):
            get()
    assert Doc(VOCAB)._.trees == ()


def test_white_space_is_in_no_tree() -> None:
    doc = Doc(VOCAB, words=["\n", "Go", "  ", "home", "\n\n"], spaces=[False] * 5)
    store_tree([doc[1], doc[3]], Tree.parse("(TOP (S (VB Go) (NP (NN home))))"), [1.0, 0.5, 0.25])
    assert doc[:]._.parse_string == doc[1:4]._.parse_string == "(S (VB Go) (NP (NN home)))"
    assert texts(doc[:]._.constituents) == ["Go  home", "Go", "home"]
    assert doc[2:4]._.labels == ("NP",)
    assert doc[3:]._.probability == 0.25
    for space in (doc[0], doc[2], doc[4:], doc[0:1]):
        assert (space._.labels, space._.parse_string, space._.parent) == ((), "", None)
        assert (space._.tree, space._.probability) == (None, 1.0)
        assert list(space._.children) == list(space._.constituents) == []


def test_brackets_in_words_have_penn_treebank_escapes() -> None:
    doc = document(Tree.parse(r"(TOP (NP (-LRB- \u{28}) (NN a[1]) ($\u{28} {}) (NN x\u{20}y)))"))
    assert doc[:]._.parse_string == r"(NP (-LRB- -LRB-) (NN a-LSB-1-RSB-) ($-LRB- -LCB--RCB-) (NN x\u{20}y))"
    assert doc._.trees[0].words == ["(", "a[1]", "{}", "x y"]


def round_trips() -> dict[str, object]:
    return {
        "bytes": lambda doc: Doc(VOCAB).from_bytes(doc.to_bytes()),
        "pickle": lambda doc: pickle.loads(pickle.dumps(doc)),
        "copy": lambda doc: doc.copy(),
        "DocBin": lambda doc: docbin_round_trip(DocBin(store_user_data=True), doc),
        "DocBin of words": lambda doc: docbin_round_trip(DocBin(attrs=["ORTH"], store_user_data=True), doc),
        "from_docs": lambda doc: Doc.from_docs([doc, doc])[len(doc) :].as_doc(copy_user_data=True),
    }


def docbin_round_trip(docs: DocBin, doc: Doc) -> Doc:
    docs.add(doc)
    (copy,) = DocBin().from_bytes(docs.to_bytes()).get_docs(VOCAB)
    return copy


@pytest.mark.parametrize("name", round_trips())
def test_trees_survive_round_trips(doc: Doc, name: str) -> None:
    other = round_trips()[name](doc)
    assert other._.trees[-2:] == doc._.trees
    assert other[7:]._.parse_string == LATE
    assert texts(other[0:7]._.constituents) == texts(doc[0:7]._.constituents)
    assert other[5]._.probability == doc[5]._.probability


def test_saved_and_joined_documents_have_their_trees(doc: Doc, tmp_path: object) -> None:
    doc.to_disk(f"{tmp_path}/doc")
    assert Doc(VOCAB).from_disk(f"{tmp_path}/doc")._.trees == doc._.trees
    joined = Doc.from_docs([doc, Doc(VOCAB), doc])
    assert joined._.trees == doc._.trees * 2
    assert [sent._.parse_string for sent in joined.sents] == [TIME, LATE] * 2
    last = list(doc.sents)[1].as_doc(copy_user_data=True)
    assert last[:]._.parse_string == LATE


def test_stored_trees_are_plain_data(doc: Doc) -> None:
    stored = [value for key, value in doc.user_data.items() if key[1] == "treecrf"]
    assert stored[1]["tree"] == f"(TOP {LATE})"
    assert stored[1]["offsets"] == [[0, 2], [3, 5], [6, 9], [10, 14], [15, 16]]
    assert stored[1]["probabilities"] == [1 / number for number in range(1, 6)]


def test_tokens_can_be_merged_after_parsing(doc: Doc) -> None:
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[2:4])  # for action
        retokenizer.merge(doc[4:6])  # is now
    assert [token.text for token in doc[:5]] == ["The", "time", "for action", "is now", "."]
    assert doc[2]._.labels == ("PP",)
    assert doc[2]._.parent.text == "The time for action"
    assert texts(doc[2]._.children) == []
    assert doc[:5]._.parse_string == TIME
    assert texts(doc[:5]._.constituents) == [
        *("The time for action is now .", "The time for action", "The time", "The", "time", "for action"),
        *("is now", "."),
    ]


def test_remove_trees_leaves_other_data(doc: Doc) -> None:
    doc.user_data["mine"] = doc.user_data["._.", "other", 0, None] = 1
    remove_trees(doc)
    assert doc.user_data == {"mine": 1, ("._.", "other", 0, None): 1}


@pytest.mark.parametrize("kind", [Span, Token])
def test_attributes_of_other_packages_are_not_replaced(kind: type) -> None:
    original = kind.get_extension("labels")[2]
    kind.set_extension("labels", getter=len, force=True)
    with pytest.raises(ValueError, match=rf"{kind.__name__}._.labels is already registered by builtins"):
        spacy_extensions._register()
    kind.set_extension("labels", getter=original, force=True)
    spacy_extensions._register()


def test_reading_trees_does_not_import_the_parser() -> None:
    code = (
        "import sys, treecrf.integrations.spacy_extensions; "
        "assert not {'treecrf.parser', 'treecrf.network.nn'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

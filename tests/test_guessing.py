"""Guessing: what users of NLTK, spaCy, Stanza and benepar type is right, or gets one line that helps."""

import io

import pytest

from treecrf import Tree

TREE = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")
WORDS = ["the", "cat", "sleeps", "."]

# calls on a tree, and their values
RIGHT = {
    "Tree.fromstring('(NP (DT the) (NN cat))')": Tree.parse("(NP (DT the) (NN cat))"),
    "Tree.fromstring('(NP\\n  (DT the)\\n  (NN cat))').words": ["the", "cat"],
    "Tree('NP', [Tree('DT', ['the']), Tree('NN', ['cat'])])": TREE[0],
    "Tree(label='NN', children=['cat'])": Tree("NN", ("cat",)),
    "str(tree)": "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))",
    "tree.label": "S",
    "tree.leaves()": WORDS,
    "tree.words": WORDS,
    "' '.join(tree.leaves())": "the cat sleeps .",
    "tree.pos()": list(zip(WORDS, ["DT", "NN", "VBZ", "."], strict=True)),
    "len(tree)": 3,
    "[child.label for child in tree]": ["NP", "VP", "."],
    "tree[0].label": "NP",
    "tree[-1].label": ".",
    "tree[0][1][0]": "cat",
    "tree[0, 1]": Tree("NN", ("cat",)),
    "tree[0:2]": TREE.children[:2],
    "tree.children[1].label": "VP",
    "tree.height()": 4,
    "[node.label for node in tree.subtrees()]": ["S", "NP", "DT", "NN", "VP", "VBZ", "."],
    "[t.leaves() for t in tree.subtrees(lambda t: t.label == 'NP')]": [["the", "cat"]],
    "[t.leaves() for t in tree.subtrees(filter=lambda t: t.height() == 2)]": [[word] for word in WORDS],
    "next(tree.subtrees('VP')).words": ["sleeps"],
    "str(tree.productions()[0])": "S -> NP VP .",
    "str(tree.productions()[-1])": ". -> '.'",
    "tree == Tree.fromstring(str(tree))": True,
    "tree in {tree}": True,
    "tree[0] in tree": True,
    "tree.to_json()['words']": WORDS,
    "tree.to_json()['spans'][1]": {"start": 0, "end": 2, "label": "NP"},
    "tree.svg()[:4]": "<svg",
    "tree._repr_html_()[-6:]": "</div>",
    "[match.node.words for match in tree.search('NP < NN')]": [["the", "cat"]],
    "tree.spans()[1]": (0, 2, "NP"),
    "tree.is_leaf": False,
    "copy.deepcopy(tree)": TREE,
    "pickle.loads(pickle.dumps(tree))": TREE,
}
# calls that cannot work, and a part of the line that says what to do
HELPED = {
    "Tree('NN', 'cat')": "expected a string and a list or tuple",
    "Tree('NP', ['the', 'cat'])": "expected subtrees, or one word alone",
    "Tree('NP', [])": "expected subtrees, or one word alone",
    "Tree.fromstring('(NP (DT the)')": "1 ')' missing at the end",
    "Tree.fromstring('the cat')": "expected '(', found 'the'",
    "tree.label()": "'str' object is not callable",
    "tree[5]": "index out of range",
    "tree['NP']": "must be integers",
    "tree[0].append(tree)": "trees do not change",
    "tree.set_label('X')": "the label is tree.label",
    "setattr(tree, 'label', 'X')": "cannot assign to field 'label'",
    "tree.__setitem__(0, tree)": "__setitem__",
    "tree.draw()": "tree.save('tree.svg')",
    "tree.pformat()": "print(tree.pretty())",
    "tree.pprint()": "tree.pretty_print()",
    "tree.text": "' '.join(tree.words)",
    "tree.tokens": "tree.words has the words",
    "tree.leaf_labels()": "tree.words has the words",
    "tree.parent()": "tree.search('NP > VP')",
    "tree.treepositions()": "tree.spans()",
    "tree.chomsky_normal_form()": "treecrf.to_spans(tree)",
    "tree.is_preterminal()": "tree.is_leaf",
    "tree.constituents": "tree.subtrees()",
    "tree.parse_string": "str(tree)",
    "tree.save('tree.gif')": "expected one of .svg .png .pdf .html .tex .txt",
    "tree.svg(theme='blue')": "expected 'light' or 'dark'",
    "tree.prune(-1)": "expected 0 or more levels",
}


def typed(call: str) -> object:
    names = {"Tree": Tree, "tree": TREE, "copy": __import__("copy"), "pickle": __import__("pickle")}
    return eval(call, names)


@pytest.mark.parametrize("call", RIGHT)
def test_a_call_is_right(call: str) -> None:
    assert typed(call) == RIGHT[call]


@pytest.mark.parametrize("call", HELPED)
def test_a_call_gets_a_line_that_helps(call: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError, IndexError)) as caught:
        typed(call)
    assert HELPED[call] in str(caught.value) and "\n" not in str(caught.value)


def test_pretty_print_writes_to_a_stream() -> None:
    stream = io.StringIO()
    TREE.pretty_print(stream=stream)
    assert "NP" in stream.getvalue() and stream.getvalue().endswith("\n")

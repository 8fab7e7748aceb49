"""Guessing: what users of NLTK, spaCy, Stanza, SuPar and benepar type is right, or gets one line that helps."""

import io
import subprocess
import sys
from functools import cache

import pytest

import treecrf
from treecrf import Parser, Tree

TREE = Tree.parse("(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)) (. .))")
WORDS = ["the", "cat", "sleeps", "."]

SANG = Tree.parse("(TOP (S (NP (PRP She)) (VP (VBD sang)) (. .)))")

# calls, and their values
RIGHT = {
    "Parser.load().language": "en",
    "parser('She sang.')": SANG,
    "parser.parse('She sang.')": SANG,
    "parser.parse(('She', 'sang', '.'))": SANG,
    "parser.parse('She sang .'.split(), tags=['PRP', 'VBD', '.'])": SANG,
    "list(parser.parse_many(['She sang.', ['She', 'sang', '.']]))": [SANG, SANG],
    "list(parser.parse_many(iter(['She sang.'])))": [SANG],
    "list(parser.parse_many([]))": [],
    "list(parser.parse_column(['She sang.', '', None]))": [SANG, None, None],
    "[sentence.text for sentence in parser.parse_text('She sang. He left.')]": ["She sang.", "He left."],
    "[sentence.tree for sentence in parser.parse_text('She sang.')]": [SANG],
    "next(parser.analyze_text('She sang.')).analysis.tree": SANG,
    "len(parser.analyze('She sang.', k=3).alternatives)": 3,
    "parser.analyze('She sang.').tree": SANG,
    "pickle.loads(pickle.dumps(parser)).parse('She sang.')": SANG,
    "copy.copy(parser).parse('She sang.')": SANG,
    "{'Parser', 'Tree', 'evaluate', 'read_trees'} <= set(dir(treecrf))": True,
    "issubclass(treecrf.BracketError, treecrf.TreecrfError)": True,
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
    "treecrf.evaluate([tree], [tree]).f1": 100.0,
    "[t.label for t in tree.subtrees(lambda t: len(t.words) > 2)]": ["S"],
    "treecrf.Constraints([(0, 2, 'NP')]) == treecrf.Constraints(require=[(0, 2, 'NP')])": True,
    "next(treecrf.read_trees(io.StringIO('(NP (NN cat))'))).words": ["cat"],
    "parser.parse(tree.words, tags=tree.tags).tags": TREE.tags,
    "parser.sample('She sang.')[0].words": SANG.words,
    "parser.log_prob(parser.parse('She sang.')) < 0": True,
}
# calls that cannot work, and a part of the line that says what to do
HELPED = {
    "Parser.load('en-larg')": "did you mean 'en-large'?",
    "Parser.load('benepar_en3')": "the installed models are en, ",
    "parser.parse(None)": "expected a string, or a list of words",
    "parser.parse(3)": "expected a string, or a list of words",
    "parser.parse('')": "has no words; expected at least one",
    "parser.parse([])": "has no words; expected at least one",
    "parser.parse(['She', 3])": "has a word that is not a string",
    "parser.parse([('time', 'NN')])": "expected words, and tags as `tags`",
    "parser.parse('She sang .'.split(), tags=['PRP'])": "3 words and 1 tags",
    "parser.parse('She sang .'.split(), constraints=[(0, 2, 'NP')])": "expected Constraints(require=",
    "list(parser.parse_many('She sang.'))": "or parse_text() for a document",
    "list(parser.parse_many(['She sang.', '']))": "sentence 1 has no words",
    "parser.analyze('She sang.', k=-1)": "expected 0 or more alternatives",
    "parser.predict(['She sang.'])": "use parse() or parse_many()",
    "parser.parse_sents([['She', 'sang']])": "use parse_many()",
    "parser.pipe(['She sang.'])": "use parse_many()",
    "parser.to('cuda')": "use Parser.load(name, device)",
    "treecrf.load('en')": "module 'treecrf' has no attribute 'load'",
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
    "Parser()": "Parser.load('en') loads an installed one",
    "Parser('en')": "Parser.load('en') loads an installed one",
    "treecrf.parse('She sang.')": "treecrf.Parser.load('en').parse(",
    "treecrf.download('en')": "treecrf.Parser.load('en').parse(",
    "treecrf.evaluate(tree, tree)": "such as evaluate([gold], [predicted])",
    "treecrf.evaluate('gold.mrg', 'test.mrg')": "evaluate(read_trees(path), read_trees(other_path))",
    "treecrf.evaluate([str(tree)], [str(tree)])": "expected two lists of trees",
    "treecrf.write_trees([tree], 'trees.mrg')": "expected a path and a list of trees",
    "Tree.parse(None)": "expected a string, a tree in brackets",
    "next(parser.parse_text(['She sang.', 'He left.']))": "or parse_many() for a list of sentences",
    "parser.parse('She sang.', tags='PRP VBD .')": "expected a list with a tag for each word",
    "parser.log_prob('(S (NP (PRP She)) (VP (VBD sang)))')": "expected a Tree",
    "parser.parse_batch([['She', 'sang']])": "use parse_many()",
    "parser.parse_all(['She', 'sang'])": "use analyze(words, k=10).alternatives",
    "parser.tag(['She', 'sang'])": "use parse(), whose tree has words and tags",
    "parser.cuda()": "use Parser.load(name, device)",
    "parser.labels": "use vocabulary",
    "tree.labels": "tree.tags has the tags",
    "tree.find('NP')": "tree.search('NP')",
    "tree.string": "' '.join(tree.words)",
    "tree.yield_preterminals()": "tree.preterminals()",
    "parser.parse('She sang.', k=3)": "analyze(words, k=10).alternatives",
    "parser.parse('She sang.', prob=True)": "analyze(words) has probabilities",
    "parser.parse(['She', 'sang'], pos=['PRP', 'VBD'])": "the tags of words are `tags`",
    "parser.parse('She sang.', lang='en')": "Parser.load('es')",
    "parser('She sang.', verbose=False)": "there is no such setting",
    "Parser.load('en', gpu=True)": "Parser.load(name, 'cuda')",
    "Parser.load(lang='en')": "each model has a language",
    "Parser.load(model='en')": "Parser.load(source)",
    "parser.parse([['She', 'sang'], ['He', 'left']])": "parse_many() takes several sentences",
    "parser.parse(SANG)": "a word that is not a string: Tree.parse(",
    "parser.parse(word for word in ['She', 'sang'])": "expected a string, or a list of words",
    "parser.parse(b'She sang.')": "expected a string, or a list of words",
    "parser.parse({'words': ['She', 'sang']})": "expected a string, or a list of words",
    "parser.tagged_parse([('She', 'PRP')])": "use parse(words, tags=tags)",
    "parser.parse_document('She sang.')": "use parse_text()",
    "parser('She sang.').sentences[0].constituency": "parser.parse_text(text) has the sentences",
    "parser.probability(tree)": "use analyze(words)",
    "treecrf.InputSentence(words=['She'])": "parse(words, tags=tags) takes words and tags",
    "treecrf.sent_tokenize('She sang.')": "parse_text(text)",
    "treecrf.ParentedTree": "treecrf.Tree is the only kind of tree",
    "treecrf.CoreNLPClient()": "`treecrf serve` answers clients of CoreNLP",
    "treecrf.list_models()": "`treecrf models` lists the models",
    "Tree.fromlist(['S', ['NP', 'I']])": "Tree.parse(text) reads brackets",
    "Tree.convert(tree)": "to_nltk()",
    "tree.to_string()": "str(tree) has the brackets",
    "tree.render()": "tree.save('tree.svg')",
    "tree.to_latex()": "tree.save('tree.tex')",
    "tree.probability": "parser.analyze(words)",
}


@cache
def parser() -> Parser:
    return Parser.load("en", "cpu")


def typed(call: str) -> object:
    modules = {"io": io, "copy": __import__("copy"), "pickle": __import__("pickle"), "treecrf": treecrf}
    return eval(call, {"Tree": Tree, "tree": TREE, "SANG": SANG, "Parser": Parser, "parser": parser(), **modules})


@pytest.mark.parametrize("call", RIGHT)
def test_a_call_is_right(call: str) -> None:
    assert typed(call) == RIGHT[call]


@pytest.mark.parametrize("call", HELPED)
def test_a_call_gets_a_line_that_helps(call: str) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError, IndexError, FileNotFoundError)) as caught:
        typed(call)
    assert HELPED[call] in str(caught.value) and "\n" not in str(caught.value)


def test_all_public_names_can_be_imported_without_pytorch() -> None:
    code = "import sys; sys.modules['torch'] = None; from treecrf import *; print(Parser, sorted(globals()))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'Tree'" in process.stdout and "SpanCRF" not in process.stdout


def test_pretty_print_writes_to_a_stream() -> None:
    stream = io.StringIO()
    TREE.pretty_print(stream=stream)
    assert "NP" in stream.getvalue() and stream.getvalue().endswith("\n")

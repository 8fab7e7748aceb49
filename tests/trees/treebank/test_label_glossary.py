from pathlib import Path

import pytest

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import (
    icelandic_glossary,
    indonesian_glossary,
    label_glossary,
    portuguese_glossary,
    read_trees,
    sinica_glossary,
    spanish_glossary,
)
from treecrf.trees.treebank.label_glossary import explain, explain_tree

SHARED = Path(__file__).parents[4] / "shared" / "treebanks"
TREEBANKS = {"cess_esp": "es", "floresta": "pt", "greynir": "is", "icepahc": "is", "icon": "id"}
MODULES = (
    icelandic_glossary,
    indonesian_glossary,
    label_glossary,
    portuguese_glossary,
    sinica_glossary,
    spanish_glossary,
)


@pytest.mark.skipif(not SHARED.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize(("treebank", "language"), TREEBANKS.items())
def test_every_label_and_tag_of_a_treebank_is_explained(treebank, language):
    nodes = {
        (node.label, node.is_leaf) for tree in read_trees(SHARED / treebank / "dev.mrg.gz") for node in tree.walk()
    }
    assert [label for label, is_tag in nodes if not explain(label, language, is_tag=is_tag)] == []


@pytest.mark.parametrize("module", MODULES)
def test_an_explanation_is_one_short_line(module):
    glossaries = [vars(module)[name] for name in vars(module) if name.endswith(("LABELS", "TAGS"))]
    meanings = [meaning for glossary in glossaries for meaning in glossary.values()]
    assert meanings and all(0 < len(meaning) <= 100 and "\n" not in meaning for meaning in meanings)


@pytest.mark.parametrize(
    ("label", "language", "meaning"),
    [
        ("grup.nom.ms.1n", "es", "noun group: a noun phrase without its specifier"),
        ("np0000l", "es", "proper noun, place"),
        ("vmp00sf", "es", "verb, participle, singular, feminine"),
        (
            "so_1_þf_fh_p3_et_nt_gm",
            "is",
            "verb, with one object, accusative, indicative, third person, singular, present, active",
        ),
        ("ONE+Q-N", "is", "the word 'einn' + quantifier, nominative"),
        ("VAN22", "is", "verb, passive participle, part 2 of 2"),
        ("zz", "es", None),
        ("no_zz", "is", None),
        ("zz", "pt", None),
    ],
)
def test_features_of_tags_are_explained_one_by_one(label, language, meaning):
    assert explain(label, language) == meaning


def test_a_label_and_a_tag_with_the_same_name_have_different_meanings():
    assert explain("A", "zh", is_tag=False) == "adjective phrase"
    assert explain("A", "zh", is_tag=True) == "adjective that cannot be a predicate (主要)"
    assert explain("VP_DE", "zh") == "verb phrase, followed by 的; modifies a noun"


def test_function_tags_are_ignored():
    assert explain("NP-SBJ-1") == explain("NP=2") == explain("NP") == "noun phrase"
    assert explain("-LRB-") == "opening bracket" and explain("-NONE-") is not None


def test_features_of_chinese_tags_are_explained():
    assert explain("VC2[+NEG]", "zh") == "transitive action verb (看, 參加); with 不 inside: it cannot be done"
    meaning = explain("VA4[+NEG,+ASP]", "zh")
    assert meaning is not None and meaning.endswith("it cannot be done; with an aspect marker inside")
    assert explain("VC2[+ODD]", "zh") is None


def test_unknown_labels_and_languages():
    assert explain("ZZ") is None
    assert explain_tree(Tree.parse("(ZZ (NN cat))")) == ["ZZ: unknown", "NN: noun, singular or mass"]
    with pytest.raises(ValueError, match="no explanations for the language 'xx'; expected one of en, es"):
        explain("NP", "xx")


def test_a_tree_is_explained_once_per_label():
    tree = Tree.parse("(TOP (S (NP (NN cat)) (VP (VBD saw) (NP (NN dog)))))")
    assert [line.partition(":")[0] for line in explain_tree(tree)] == ["TOP", "S", "NP", "VP", "NN", "VBD"]

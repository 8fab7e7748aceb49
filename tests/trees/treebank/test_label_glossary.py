from pathlib import Path

import pytest

from treecrf.trees.tree import Tree
from treecrf.trees.treebank import label_glossary, read_trees
from treecrf.trees.treebank.label_glossary import explain, explain_tree, read_glossary
from treecrf.trees.treebank.languages import LANGUAGES

SHARED = Path(__file__).parents[4] / "shared" / "treebanks"
TREEBANKS = {"cess_cat": "ca", "cess_esp": "es", "farpahc": "fo", "floresta": "pt", "greynir": "is"}
TREEBANKS |= {"icepahc": "is", "icon": "id", "keyaki": "ja"}
FILES = sorted((Path(label_glossary.__file__).parent / "glossaries").glob("*.tsv"))


@pytest.mark.skipif(not SHARED.exists(), reason="the treebanks are not in ../shared/treebanks")
@pytest.mark.parametrize(("treebank", "language"), TREEBANKS.items())
def test_every_label_and_tag_of_a_treebank_is_explained(treebank, language):
    nodes = {
        (node.label, node.is_leaf) for tree in read_trees(SHARED / treebank / "dev.mrg.gz") for node in tree.walk()
    }
    assert [label for label, is_tag in nodes if not explain(label, language, is_tag=is_tag)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_glossary_has_labels_and_tags_with_short_meanings(language):
    glossary = read_glossary(language)
    assert glossary["label"]["TOP"] == "root of the tree" and len(glossary["tag"]) > 15
    assert all(0 < len(meaning) <= 100 for table in glossary.values() for meaning in table.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_symbol_has_one_meaning_in_a_table(path):
    symbols = [line.rpartition("\t")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(symbols) == len(set(symbols))


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
        ("VAN33", "is", "verb, passive participle, part 3 of 3"),
        ("ZZ22", "is", None),
        ("no__nf", "is", "noun, nominative"),
        ("NS-D-1", "is", "noun, plural, dative"),
        ("HVDS", "is", "the verb 'hafa', past, subjunctive"),
        ("BEBI", "is", "annotation error"),
        ("-", "is", "the punctuation mark -"),
        ("", "is", None),
        ("«", "pt", "the punctuation mark «"),
        ("prop|n", "pt", "annotation error"),
        ("", "pt", None),
        ("v", "es", None),
        ("vzip", "es", None),
        ("S.F.A.co", "es", "adverbial clause with a finite verb"),
        ("sn*", "es", "noun phrase"),
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
    with pytest.raises(ValueError, match="no explanations for the language 'xx'; expected one of ca, en"):
        explain("NP", "xx")


def test_a_tree_is_explained_once_per_label():
    tree = Tree.parse("(TOP (S (NP (NN cat)) (VP (VBD saw) (NP (NN dog)))))")
    assert [line.partition(":")[0] for line in explain_tree(tree)] == ["TOP", "S", "NP", "VP", "NN", "VBD"]

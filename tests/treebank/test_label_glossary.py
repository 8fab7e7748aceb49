import pytest

from project_models import EXPLAINED_MODELS, model_folder
from treecrf.export.model_card import ModelCard
from treecrf.tree import Tree
from treecrf.treebank.label_glossary import LABELS, TAGS, explain, explain_tree


def test_every_language_with_explanations_is_tested():
    assert set(EXPLAINED_MODELS.values()) == set(LABELS) == set(TAGS)


@pytest.mark.parametrize(("name", "language"), EXPLAINED_MODELS.items())
def test_every_label_and_tag_of_a_model_is_explained(name, language):
    card = ModelCard.load(model_folder(name))
    assert [label for label in card.labels if not explain(label, language, is_tag=False)] == []
    assert [tag for tag in card.tags if not explain(tag, language, is_tag=True)] == []


@pytest.mark.parametrize("glossary", [*LABELS.values(), *TAGS.values()])
def test_an_explanation_is_one_short_line(glossary):
    assert all(0 < len(meaning) <= 100 and "\n" not in meaning for meaning in glossary.values())


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
    with pytest.raises(ValueError, match="no explanations for the language 'xx'; expected one of en, zh"):
        explain("NP", "xx")


def test_a_tree_is_explained_once_per_label():
    tree = Tree.parse("(TOP (S (NP (NN cat)) (VP (VBD saw) (NP (NN dog)))))")
    assert [line.partition(":")[0] for line in explain_tree(tree)] == ["TOP", "S", "NP", "VP", "NN", "VBD"]

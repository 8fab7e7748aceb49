"""The labels and tags of our models have explanations."""

import pytest

from project_models import EXPLAINED_MODELS, model_folder
from treecrf.parser.models.model_card import ModelCard
from treecrf.trees.treebank.label_glossary import explain


@pytest.mark.parametrize(("name", "language"), EXPLAINED_MODELS.items())
def test_every_label_and_tag_of_a_model_is_explained(name, language):
    card = ModelCard.load(model_folder(name))
    assert [label for label in card.labels if not explain(label, language, is_tag=False)] == []
    assert [tag for tag in card.tags if not explain(tag, language, is_tag=True)] == []

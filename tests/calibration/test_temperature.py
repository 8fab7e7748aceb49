import pytest
import torch

from small import FIFTY, random_parser
from treecrf import Constraints, read_trees
from treecrf.calibration import measure
from treecrf.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures

TREES = list(read_trees(FIFTY))
KINDS = [{}, {"scorer": "minus"}, {"loss": "one-stage-crf"}, {"loss": "one-stage-margin"}]


@pytest.mark.parametrize("model", KINDS, ids=str)
def test_a_temperature_divides_the_scores(model):
    parser, other = random_parser(TREES, **model), random_parser(TREES, **model)
    both = Temperatures(2.0, 2.0)
    apply_temperatures(other.model, both)
    words = TREES[3].words
    for constraints in (None, Constraints(require=[(0, 2)])):
        was = parser.crf(words, constraints=constraints).scores
        now = other.crf(words, constraints=constraints).scores
        finite = torch.isfinite(was)
        if not parser.model.config.one_stage and constraints is None:
            torch.testing.assert_close(now[finite], was[finite] / 2)
        assert torch.equal(torch.isfinite(now), finite)
    assert other.parse(words, mbr=False) == parser.parse(words, mbr=False)


def test_spans_and_labels_have_temperatures_of_their_own():
    parser, other = random_parser(TREES), random_parser(TREES)
    apply_temperatures(other.model, Temperatures(1.0, 4.0))
    words = TREES[3].words
    torch.testing.assert_close(other.crf(words).marginals, parser.crf(words).marginals)
    was, now = parser.analyze(words, mbr=False), other.analyze(words, mbr=False)
    assert was.tree == now.tree and was.log_prob > now.log_prob


@pytest.mark.parametrize("model", KINDS, ids=str)
def test_a_fitted_temperature_is_better_than_any_other_tried(model):
    parser = random_parser(TREES, **model)
    before = measure(parser, TREES).labelled
    found = fit_temperatures(parser, TREES, choices=[0.5, 1.0, 2.0, 4.0])
    assert found != (1.0, 1.0)
    apply_temperatures(parser.model, found)
    after = measure(parser, TREES).labelled
    assert after.log_loss < before.log_loss and after.error < before.error


def test_one_stage_models_have_one_temperature():
    parser = random_parser(TREES, loss="one-stage-crf")
    with pytest.raises(ValueError, match="expected the same twice"):
        apply_temperatures(parser.model, Temperatures(1.0, 2.0))
    with pytest.raises(ValueError, match="above 0"):
        apply_temperatures(parser.model, Temperatures(0.0, 0.0))

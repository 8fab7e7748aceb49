import pytest
import torch

from small import FIFTY, random_parser
from treecrf import Constraints, read_trees
from treecrf.training.calibration import measure
from treecrf.training.calibration.temperature import Temperatures, apply_temperatures, fit_temperatures

TREES = list(read_trees(FIFTY))
MODELS = [{}, {"scorer": "minus"}, {"loss": "one-stage-crf"}, {"loss": "one-stage-margin"}]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_temperatures_divide_scores(model):
    parser, other = random_parser(TREES, **model), random_parser(TREES, **model)
    apply_temperatures(other.model, Temperatures(2.0, 2.0))
    words = TREES[3].words
    for constraints in (None, Constraints(require=[(0, 2)])):
        before = parser.crf(words, constraints=constraints).scores
        after = other.crf(words, constraints=constraints).scores
        finite = torch.isfinite(before)
        if not parser.model_config.one_stage and constraints is None:
            torch.testing.assert_close(after[finite], before[finite] / 2)
        assert torch.equal(torch.isfinite(after), finite)
    assert other.parse(words, mbr=False) == parser.parse(words, mbr=False)


def test_label_temperature_leaves_span_marginals_unchanged():
    parser, other = random_parser(TREES), random_parser(TREES)
    apply_temperatures(other.model, Temperatures(1.0, 4.0))
    words = TREES[3].words
    torch.testing.assert_close(other.crf(words).marginals, parser.crf(words).marginals)
    before, after = parser.analyze(words, mbr=False), other.analyze(words, mbr=False)
    assert before.tree == after.tree and before.log_prob > after.log_prob


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_fitted_temperatures_lower_log_loss_and_calibration_error(model):
    parser = random_parser(TREES, **model)
    before = measure(parser, TREES).reliability["labeled"]
    temperatures = fit_temperatures(parser, TREES, choices=[0.5, 1.0, 2.0, 4.0])
    assert temperatures != (1.0, 1.0)
    apply_temperatures(parser.model, temperatures)
    after = measure(parser, TREES).reliability["labeled"]
    assert after.log_loss < before.log_loss and after.error < before.error


def test_one_stage_models_need_equal_temperatures():
    parser = random_parser(TREES, loss="one-stage-crf")
    with pytest.raises(ValueError, match="expected two equal temperatures"):
        apply_temperatures(parser.model, Temperatures(1.0, 2.0))
    with pytest.raises(ValueError, match="above 0"):
        apply_temperatures(parser.model, Temperatures(0.0, 0.0))

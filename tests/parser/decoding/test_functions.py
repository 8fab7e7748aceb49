import numpy as np
import pytest

from treecrf.parser.decoding.functions import Functions


def test_a_label_has_all_probable_functions_in_the_order_of_their_names() -> None:
    functions = Functions(["NOM", "LOC", "SBJ"], np.float32([[0.9, 0.2, 0.8], [0, 0.51, 0.5], [0, 0, 0]]))
    assert functions.labels(["S", "PP", "NP"]) == ["S-NOM-SBJ", "PP-LOC", "NP"]
    ((name, probability),) = functions.of(1)
    assert name == "LOC" and probability == pytest.approx(0.51) and functions.of(2) == ()

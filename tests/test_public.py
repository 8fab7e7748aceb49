import subprocess
import sys

import pytest

import treecrf


@pytest.mark.parametrize("name", treecrf.__all__)
def test_every_public_name_is_there(name):
    assert getattr(treecrf, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Perser'"):
        treecrf.Perser  # noqa: B018  # the look-up is the test


@pytest.mark.parametrize("code", ["import treecrf", "from treecrf import Tree, evaluate, read_trees, to_spans"])
def test_words_come_without_torch(code):
    check = f"{code}\nimport sys\nassert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)

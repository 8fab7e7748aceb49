import pytest

from treecrf.network.runtime.int8 import why_unsupported


@pytest.fixture
def int8_support():
    if reason := why_unsupported():
        pytest.skip(reason)

import pytest

from treecrf.server.limits import Limits


@pytest.mark.parametrize("invalid", [{"words": 0}, {"k": -1}, {"body_seconds": 0.0}, {"wait_seconds": float("nan")}])
def test_a_limit_below_its_minimum_is_an_error(invalid: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(invalid))} is "):
        Limits(**invalid)  # type: ignore[arg-type]


def test_the_largest_request_fits_into_the_queue() -> None:
    with pytest.raises(ValueError, match="expected sentences <= queue"):
        Limits(sentences=10, queue=9)
    with pytest.raises(ValueError, match="expected work <= queue_work"):
        Limits(work=10, queue_work=9)

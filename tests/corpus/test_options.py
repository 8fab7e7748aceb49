from argparse import Namespace

import pytest

from treecrf import __version__
from treecrf.corpus.options import SUFFIXES, ClusterOptions, ParseOptions, check_minimum


def test_the_record_of_an_output_has_every_option_and_the_model() -> None:
    settings = ParseOptions(format="csv", rows="sentences", no_mbr=True).output_settings()
    assert (settings["format"], settings["rows"], settings["no_mbr"]) == ("csv", "sentences", True)
    assert settings["treecrf"] == __version__ and len(settings["model_sha256"]) == 64
    assert ParseOptions(format="json").output_settings()["rows"] is None  # other formats have no rows


def test_numbers_have_minimums() -> None:
    check_minimum(Namespace(jobs=1, epochs=None), jobs=1, epochs=1)
    with pytest.raises(ValueError, match="--jobs is 0; expected 1 or more"):
        check_minimum(Namespace(jobs=0), jobs=1)


def test_every_format_has_a_suffix() -> None:
    assert [ParseOptions(format=name).format for name in SUFFIXES] == list(SUFFIXES)  # type: ignore[arg-type]


def test_a_folder_of_a_model_becomes_absolute(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path)
    assert ParseOptions(model="own").with_absolute_model().model == str((tmp_path / "own").resolve())
    assert ParseOptions(model="en").with_absolute_model() == ParseOptions(model="en")


def test_the_longest_sentence_depends_on_the_output() -> None:
    assert ParseOptions(max_words=10_000).word_limit == 5000
    assert ParseOptions(max_words=30).word_limit == 30
    for options in (ParseOptions(format="json", probs=True), ParseOptions(format="json", kbest=2)):
        assert options.word_limit == 1000


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("cpu_workers", 0),
        ("max_line_bytes", 1),
        ("max_words", 1),
        ("workers", 1),
        ("cpus_per_worker", 1),
        ("retries", 0),
    ],
)
def test_numbers_have_a_minimum(name: str, least: int) -> None:
    options = ParseOptions if name in ("max_line_bytes", "max_words") else ClusterOptions
    options(**{name: least})
    with pytest.raises(ValueError, match=f"--{name.replace('_', '-')} is {least - 1}; expected {least} or more"):
        options(**{name: least - 1})


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5])
def test_a_worker_has_a_part_of_a_gpu(share: float) -> None:
    assert ClusterOptions(gpus_per_worker=1.0).gpus_per_worker == 1.0
    with pytest.raises(ValueError, match="expected more than 0 and at most 1"):
        ClusterOptions(gpus_per_worker=share)


@pytest.mark.parametrize("output_format", ["brackets", "conllu", "csv"])
def test_alternatives_need_a_format_that_has_them(output_format) -> None:
    with pytest.raises(ValueError, match="--kbest needs --format json or pretty"):
        ParseOptions(format=output_format, kbest=1)
    with pytest.raises(ValueError, match="--kbest is -1; expected 0 or more"):
        ParseOptions(format="json", kbest=-1)

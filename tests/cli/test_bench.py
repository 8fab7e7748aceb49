import re
import statistics
from collections import Counter
from pathlib import Path

import pytest

from small import random_parser
from toygrammar import toy_trees
from treecrf.cli import main
from treecrf.parser.benchmark import random_sentences


def bench(*args: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *map(str, args)])
    return ended.value.code


@pytest.mark.parametrize("options", [[], ["--no-mbr"]])
def test_speed_and_latency_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]) -> None:
    random_parser(toy_trees(20)).save(tmp_path)
    assert not bench("--model", tmp_path, "--sentences", 30, "--repeats", 1, "--device", "cpu", *options)
    output = capsys.readouterr().out
    assert ("with MBR" in output) == (not options)
    numbers = re.findall(r"([\d,.]+) (s|sentences/s|words/s|ms)$", output, re.MULTILINE)
    speeds = {unit: float(value.replace(",", "")) for value, unit in numbers}
    assert speeds.keys() == {"s", "sentences/s", "words/s", "ms"} and min(speeds.values()) >= 0
    assert speeds["words/s"] > speeds["sentences/s"] > 0
    assert all(f"\n{part}" in output for part in ("read and split", "encode", "network", "text", "one after the other"))
    assert "computes" not in output


def test_random_sentences_resemble_real_text_and_are_reproducible() -> None:
    words = [f"word{number}" for number in range(5000)]
    sentences = random_sentences(words, 2000)
    assert sentences == random_sentences(words, 2000)
    lengths = list(map(len, sentences))
    assert 23 < statistics.mean(lengths) < 25 and min(lengths) >= 1 and max(lengths) <= 100
    counts = Counter(word for sentence in sentences for word in sentence).most_common()
    assert counts[0][1] > 30 * counts[1000][1] > 0  # some words are frequent and most are rare


@pytest.mark.parametrize("option", ["--sentences", "--repeats"])
def test_counts_below_one_are_errors(tmp_path: Path, option: str) -> None:
    assert f"{option} is 0; expected 1 or more" in str(bench("--model", tmp_path, option, 0))


def test_a_missing_model_is_an_error() -> None:
    assert "there is no model 'klingon'" in str(bench("--model", "klingon"))

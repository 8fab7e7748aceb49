from small import random_parser
from toygrammar import toy_trees
from treecrf.parser.benchmark import device_name, measure_speed, random_sentences

WORDS = [f"word{number}" for number in range(50)]


def test_random_sentences_are_the_same_for_the_same_words() -> None:
    sentences = random_sentences(WORDS, 300)
    assert sentences == random_sentences(WORDS, 300) and len(sentences) == 300
    lengths = [len(sentence) for sentence in sentences]
    assert 1 <= min(lengths) < 10 and 50 < max(lengths) <= 100
    assert 20 < sum(lengths) / 300 < 28
    words = [word for sentence in sentences for word in sentence]
    counts = sorted(map(words.count, WORDS), reverse=True)
    assert set(words) == set(WORDS) and counts[0] > 4 * counts[-1]


def test_the_speed_is_measured_on_all_sentences_and_on_a_short_one() -> None:
    speed = measure_speed(random_parser(toy_trees(20)), sentences=3, repeats=1, mbr=True)
    assert speed.sentences == 3 and speed.words >= 3
    assert speed.batch_seconds > 0 and speed.latency_seconds > 0


def test_a_processor_has_a_name() -> None:
    assert device_name("cpu").strip()

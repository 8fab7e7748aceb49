import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import ignore_error

from small import random_parser
from toygrammar import toy_trees
from treecrf.integrations.spacy import TreeCRFComponent
from treecrf.parser import Parser
from treecrf.tree import Tree

TREES = toy_trees(150, seed=8)
TEXT = "The cat sees a garden. We never slept!\n\nAda likes (every) book."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("spacy") / "model"
    random_parser(TREES, tag_head=True).save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def parser(folder: str) -> Parser:
    return Parser.load(folder, device="cpu")


def pipeline(model: str, **config: Any) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("treecrf", config={"model": model, "device": "cpu", **config})
    return nlp


@pytest.fixture(scope="module")
def nlp(folder: str) -> Language:
    return pipeline(folder)


def words(span: Any) -> list[str]:
    return [token.text for token in span if not token.is_space]


def alone(parser: Parser, doc: Doc) -> tuple[Tree, ...]:
    """The trees of a document's sentences, each parsed by itself."""
    return tuple(parser.parse(words(sentence)) for sentence in doc.sents if words(sentence))


def made_up_texts(number: int) -> Iterator[str]:
    """Documents of none to four sentences, a period to each, with white space where people leave it."""
    source = random.Random(1)
    for _ in range(number):
        sentences = [filter(str.isalnum, source.choice(TREES).words) for _ in range(source.randrange(5))]
        yield "".join(f"{' '.join(words)} .{source.choice([' ', '  ', chr(10) * 2])}" for words in sentences)


def test_a_thousand_documents_have_the_trees_of_their_sentences(nlp: Language, parser: Parser) -> None:
    texts = list(made_up_texts(1000))
    docs = list(nlp.pipe(texts, batch_size=64))
    assert [doc.text for doc in docs] == texts
    sentences = [sentence for doc in docs for sentence in doc.sents if words(sentence)]
    assert len(sentences) == sum(text.count(".") for text in texts) > 1500
    one_by_one = {text: parser.parse(list(text)) for text in {tuple(words(sentence)) for sentence in sentences}}
    trees = [one_by_one[tuple(words(sentence))] for sentence in sentences]
    assert [tree for doc in docs for tree in doc._.trees] == trees
    assert [sentence._.tree.words for sentence in sentences] == [tree.words for tree in trees]


def test_one_document_and_many_give_the_same(nlp: Language, parser: Parser) -> None:
    doc = nlp(TEXT)
    (other,) = nlp.pipe([TEXT])
    assert doc._.trees == other._.trees == alone(parser, doc)
    assert [s._.probability for s in doc.sents] == [s._.probability for s in other.sents]


def test_sentences_of_many_documents_are_parsed_together(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    component = nlp.get_pipe("treecrf")
    sizes: list[int] = []
    analyze_many = component.parser.analyze_many

    def counting(sentences: list[list[str]], **settings: Any) -> Any:
        sizes.append(len(sentences))
        return analyze_many(sentences, **settings)

    monkeypatch.setattr(component.parser, "analyze_many", counting)
    list(nlp.pipe(["We slept. She sang."] * 25, batch_size=10))
    assert sizes == [20, 20, 10]


def test_documents_are_read_as_they_are_asked_for(nlp: Language) -> None:
    read: list[int] = []

    def stream() -> Iterator[str]:
        for number in range(100):
            read.append(number)
            yield "We slept."

    docs = nlp.pipe(stream(), batch_size=5)
    next(docs)
    assert len(read) < 20


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_two_processes_give_the_same_trees(nlp: Language) -> None:
    texts = [*made_up_texts(60), "", " "]
    one = list(nlp.pipe(texts))
    two = list(nlp.pipe(texts, n_process=2, batch_size=8))
    assert [doc._.trees for doc in two] == [doc._.trees for doc in one]
    sure = [[sentence._.probability for doc in docs for sentence in doc.sents] for docs in (one, two)]
    assert sure[1] == pytest.approx(sure[0], abs=1e-4)
    assert [context for _, context in nlp.pipe([("We slept.", 1), ("", 2)], as_tuples=True, n_process=2)] == [1, 2]


def test_a_pipeline_on_disk_comes_back(nlp: Language, folder: str, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    assert again.pipe_names == ["sentencizer", "treecrf"]
    assert again.config["components"]["treecrf"]["model"] == folder
    assert again(TEXT)._.trees == nlp(TEXT)._.trees
    copy = pipeline(folder).from_bytes(nlp.to_bytes())
    assert copy(TEXT)._.trees == nlp(TEXT)._.trees


def test_a_pipeline_whose_model_has_moved_is_told_where_it_is(nlp: Language, parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "there")
    pipeline(str(tmp_path / "there")).to_disk(tmp_path / "pipeline")
    (tmp_path / "there").rename(tmp_path / "here")
    with pytest.raises(FileNotFoundError, match="there is no model"):
        spacy.load(tmp_path / "pipeline")
    where = {"components": {"treecrf": {"model": str(tmp_path / "here")}}}
    assert spacy.load(tmp_path / "pipeline", config=where)(TEXT)._.trees == nlp(TEXT)._.trees


def test_a_pickled_component_loads_its_model_again(nlp: Language) -> None:
    component = pickle.loads(pickle.dumps(nlp.get_pipe("treecrf")))
    assert component.name == "treecrf"
    assert component(nlp.get_pipe("sentencizer")(nlp.make_doc(TEXT)))._.trees == nlp(TEXT)._.trees


def test_a_bin_of_documents_keeps_trees(nlp: Language, tmp_path: Path) -> None:
    docs = list(nlp.pipe(made_up_texts(20)))
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "docs.spacy")
    again = list(DocBin().from_disk(tmp_path / "docs.spacy").get_docs(nlp.vocab))
    assert [doc._.trees for doc in again] == [doc._.trees for doc in docs]
    assert [[s._.parse_string for s in doc.sents] for doc in again] == [
        [s._.parse_string for s in doc.sents] for doc in docs
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
def test_documents_without_words_have_no_trees(nlp: Language, text: str) -> None:
    for doc in [nlp(text), *nlp.pipe([text, "We slept.", text])][:2]:
        assert doc._.trees == ()
        assert all(sentence._.parse_string == "" for sentence in doc.sents)


def test_white_space_is_left_out_and_offsets_stay(nlp: Language, parser: Parser) -> None:
    doc = nlp("\n The  cat\tsees   a \n garden .  \n\n We slept.\n")
    first, second, *_ = doc.sents
    assert doc._.trees[0] == parser.parse(["The", "cat", "sees", "a", "garden", "."])
    assert doc._.trees[1] == parser.parse(["We", "slept", "."])
    for sentence, tree in zip([first, second], doc._.trees, strict=True):
        leaves = [span.text for span in sentence._.constituents if len(words(span)) == 1]
        assert leaves == tree.words
        for span in sentence._.constituents:
            assert words(span) == span._.tree.words
            assert not span[0].is_space
            assert not span[-1].is_space


def test_given_words_are_parsed_as_they_are(nlp: Language, parser: Parser) -> None:
    given = ["The", "cat's", "New York", "(", "see", "\u200b", ")", "."]
    doc = nlp(Doc(nlp.vocab, words=given, spaces=[False] * len(given)))
    assert doc._.trees == (parser.parse(given),)
    assert doc[:]._.tree.words == given
    assert [token._.tree.words for token in doc] == [[word] for word in given]


def test_a_document_that_does_not_say_where_sentences_start_is_an_error(folder: str, parser: Parser) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf", config={"model": folder, "device": "cpu"})
    with pytest.raises(
        ValueError, match=r"'We slept.' does not say where they start; .*add_pipe\('sentencizer', before="
    ):
        nlp("We slept.")
    starts = Doc(nlp.vocab, words=["We", "slept", "."], sent_starts=[True, False, False])
    assert nlp(starts)._.trees == (parser.parse(["We", "slept", "."]),)
    assert nlp(Doc(nlp.vocab, words=["Rain"]))._.trees == (parser.parse(["Rain"]),)


def test_one_bad_document_does_not_take_others_with_it(folder: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf", config={"model": folder, "device": "cpu"})
    good = [Doc(nlp.vocab, words=["We", "slept", "."], sent_starts=[True, False, False]) for _ in range(3)]
    bad = Doc(nlp.vocab, words=["no", "start"])
    with pytest.raises(ValueError, match="does not say where they start"):
        list(nlp.pipe([good[0], bad, good[1]]))
    nlp.set_error_handler(ignore_error)
    assert list(nlp.pipe([good[0], bad, good[1], good[2]])) == good
    assert all(doc._.trees for doc in good)


def test_the_tags_of_the_pipeline_are_kept(nlp: Language, folder: str) -> None:
    predicted = nlp("We slept.")._.trees[0].tags
    tagging = pipeline(folder)
    ruler = tagging.add_pipe("attribute_ruler", before="treecrf")
    ruler.add([[{"LOWER": "we"}], [{"LOWER": "."}]], {"TAG": "MINE"})
    doc = tagging("We slept.")
    assert doc._.trees[0].tags == ["MINE", predicted[1], "MINE"]
    assert [token.tag_ for token in doc] == ["MINE", "", "MINE"]
    assert "(MINE We)" in doc[0]._.parse_string


def test_the_tags_of_the_model_are_set_when_asked_for(nlp: Language, folder: str) -> None:
    predicted = nlp("We slept.")._.trees[0].tags
    tagging = pipeline(folder, tags="predict")
    ruler = tagging.add_pipe("attribute_ruler", before="treecrf")
    ruler.add([[{}]], {"TAG": "MINE"})
    doc = tagging("We  slept.")
    assert doc._.trees[0].tags == predicted
    assert [token.tag_ for token in doc] == [predicted[0], "MINE", *predicted[1:]]


def test_a_model_that_cannot_tag_is_not_asked_to(tmp_path: Path) -> None:
    random_parser(TREES).save(tmp_path / "none")
    with pytest.raises(ValueError, match=r"is to predict tags, and its model .* has not learned to"):
        pipeline(str(tmp_path / "none"), tags="predict")
    assert pipeline(str(tmp_path / "none"))("We slept.")._.trees[0].tags == ["_", "_", "_"]


def test_a_model_that_reads_tags_gets_those_of_the_pipeline(tmp_path: Path) -> None:
    reader = random_parser(TREES, tag_size=8)
    reader.save(tmp_path / "reader")
    nlp = pipeline(str(tmp_path / "reader"))
    with pytest.raises(ValueError, match=r"reads tags, and token 0 \('We'\) of the document has none; add a tagger"):
        nlp("We slept.")
    tags = ["PRP", "VBD", "."]
    doc = nlp(Doc(nlp.vocab, words=["We", "slept", "."], tags=tags))
    assert doc._.trees == (reader.parse(["We", "slept", "."], tags=tags),)
    with pytest.raises(ValueError, match=r"its model .* reads them"):
        pipeline(str(tmp_path / "reader"), tags="predict")


def test_settings_of_benepar_are_understood(folder: str) -> None:
    component = pipeline(folder, subbatch_max_tokens=300, disable_tagger=True).get_pipe("treecrf")
    assert (component.batch_words, component.tags) == (300, "keep")
    assert pipeline(folder, disable_tagger=False).get_pipe("treecrf").tags == "predict"


def test_other_decoding_and_batches_are_settings(folder: str, parser: Parser, nlp: Language) -> None:
    text = " ".join(made_up_texts(20))
    doc = pipeline(folder, mbr=False, batch_words=20)(text)
    assert doc._.trees == tuple(parser.parse(words(s), mbr=False) for s in doc.sents if words(s))
    assert doc._.trees != nlp(text)._.trees


def test_a_wrong_setting_is_an_error(folder: str) -> None:
    for wrong in ({"tags": "guess"}, {"modle": "en"}, {"batch_words": "many"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            pipeline(folder, **wrong)


def test_without_a_model_it_is_the_one_of_the_language() -> None:
    with pytest.raises(FileNotFoundError, match="there is no model 'hu'"):
        spacy.blank("hu").add_pipe("treecrf")


def test_a_very_long_sentence_is_parsed(nlp: Language, parser: Parser) -> None:
    sentence = ["cat"] * 700
    doc = nlp(Doc(nlp.vocab, words=sentence))
    assert doc._.trees[0] == parser.parse(sentence)
    assert len(list(doc[:]._.constituents)) >= 700


def test_it_can_be_disabled_and_enabled(nlp: Language) -> None:
    with nlp.select_pipes(disable="treecrf"):
        doc = nlp("We slept.")
        with pytest.raises(ValueError, match=r"there is no tree of 'We slept\.'"):
            doc._.trees  # noqa: B018  # the look-up is the test
    assert len(nlp("We slept.")._.trees) == 1


def test_of_two_components_the_last_one_parses(folder: str, parser: Parser) -> None:
    nlp = pipeline(folder)
    with pytest.raises(ValueError, match="already exists"):
        nlp.add_pipe("treecrf", config={"model": folder})
    nlp.add_pipe("treecrf", name="second", config={"model": folder, "device": "cpu", "mbr": False})
    doc = nlp(TEXT)
    assert doc._.trees == tuple(parser.parse(words(s), mbr=False) for s in doc.sents)


def test_a_component_of_another_pipeline_parses_in_this_one(nlp: Language) -> None:
    other = spacy.blank("en", vocab=nlp.vocab)
    other.add_pipe("sentencizer")
    other.add_pipe("treecrf", source=nlp)
    assert other(TEXT)._.trees == nlp(TEXT)._.trees


def test_parsing_again_leaves_no_trees_of_other_sentences(nlp: Language) -> None:
    doc = nlp("We slept. She sang.")
    doc[3].is_sent_start = False
    nlp.get_pipe("treecrf")(doc)
    assert [tree.words for tree in doc._.trees] == [["We", "slept", ".", "She", "sang", "."]]


def test_spacy_knows_what_it_needs_and_gives(nlp: Language) -> None:
    assert nlp.analyze_pipes()["problems"]["treecrf"] == []
    assert "doc._.trees" in nlp.analyze_pipes()["attrs"]
    assert isinstance(nlp.get_pipe("treecrf"), TreeCRFComponent)


@pytest.mark.parametrize("splitter", ["sentencizer", "senter", "parser"])
def test_spacy_takes_any_component_that_finds_sentences(splitter: str, folder: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf", config={"model": folder, "device": "cpu"})
    assert nlp.analyze_pipes()["problems"]["treecrf"] != []
    nlp.add_pipe(splitter, first=True)
    assert nlp.analyze_pipes()["problems"]["treecrf"] == []

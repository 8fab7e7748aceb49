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
from treecrf.trees.tree import Tree

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


def split(text: str, **config: Any) -> list[str]:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf_sentences", config=config)
    return [sentence.text for sentence in nlp(text).sents]


def test_sentences_are_those_of_treecrf() -> None:
    assert split('"Stop!" he said to Dr. Lopez. "Why?" she asked.  \n\n No.') == [
        '"Stop!" he said to Dr. Lopez.',
        '"Why?" she asked.  \n\n ',
        "No.",
    ]
    assert split("") == [] and split("  ") == ["  "]


def test_every_token_says_whether_a_sentence_starts() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf_sentences")
    doc = nlp("We left. Ada stayed.")
    assert [token.is_sent_start for token in doc] == [True, False, False, True, False, False]


def test_sentences_of_documents_with_dependencies_are_an_error() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf_sentences")
    doc = Doc(nlp.vocab, words=["We", "left"], heads=[1, 1], deps=["nsubj", "ROOT"])
    with pytest.raises(ValueError, match="has dependencies, which determine its sentences; add 'treecrf_sentences'"):
        nlp(doc)


def test_sentences_need_a_known_language() -> None:
    with pytest.raises(ValueError, match="no tokenizer for language 'de'"):
        split("Ja.", language="de")


def test_probabilities_are_computed_on_request(folder: str) -> None:
    doc = pipeline(folder)(TEXT)
    assert [len(row) for row in doc._.tree_probabilities] == [len(tree.spans()) for tree in doc._.trees]
    assert doc._.tree_probabilities[0][0] == 1.0
    plain = pipeline(folder, probabilities=False)(TEXT)
    assert plain._.trees == doc._.trees
    for read in (lambda: plain._.tree_probabilities, lambda: next(iter(plain.sents))._.probability):
        with pytest.raises(ValueError, match="there are no probabilities of"):
            read()


def words(span: Any) -> list[str]:
    return [token.text for token in span if not token.is_space]


def parse_each(parser: Parser, doc: Doc) -> tuple[Tree, ...]:
    """The trees of a document's sentences, parsed one by one."""
    return tuple(parser.parse(words(sentence)) for sentence in doc.sents if words(sentence))


def random_texts(number: int) -> Iterator[str]:
    """Documents of up to four sentences with one period each, and with irregular white space."""
    generator = random.Random(1)
    for _ in range(number):
        sentences = [filter(str.isalnum, generator.choice(TREES).words) for _ in range(generator.randrange(5))]
        yield "".join(f"{' '.join(words)} .{generator.choice([' ', '  ', chr(10) * 2])}" for words in sentences)


def test_a_thousand_documents_have_the_trees_of_their_sentences(nlp: Language, parser: Parser) -> None:
    texts = list(random_texts(1000))
    docs = list(nlp.pipe(texts, batch_size=64))
    assert [doc.text for doc in docs] == texts
    sentences = [sentence for doc in docs for sentence in doc.sents if words(sentence)]
    assert len(sentences) == sum(text.count(".") for text in texts) > 1500
    one_by_one = {text: parser.parse(list(text)) for text in {tuple(words(sentence)) for sentence in sentences}}
    trees = [one_by_one[tuple(words(sentence))] for sentence in sentences]
    assert [tree for doc in docs for tree in doc._.trees] == trees
    assert [sentence._.tree.words for sentence in sentences] == [tree.words for tree in trees]


def test_call_and_pipe_give_the_same_trees(nlp: Language, parser: Parser) -> None:
    doc = nlp(TEXT)
    (other,) = nlp.pipe([TEXT])
    assert doc._.trees == other._.trees == parse_each(parser, doc)
    assert [s._.probability for s in doc.sents] == [s._.probability for s in other.sents]


def test_sentences_of_several_documents_share_a_batch(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    component = nlp.get_pipe("treecrf")
    sizes: list[int] = []
    analyze_many = component.parser.analyze_many

    def counting(sentences: list[list[str]], **settings: Any) -> Any:
        sizes.append(len(sentences))
        return analyze_many(sentences, **settings)

    monkeypatch.setattr(component.parser, "analyze_many", counting)
    list(nlp.pipe(["We slept. She sang."] * 25, batch_size=10))
    assert sizes == [20, 20, 10]


def test_documents_are_read_on_demand(nlp: Language) -> None:
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
    texts = [*random_texts(60), "", " "]
    one = list(nlp.pipe(texts))
    two = list(nlp.pipe(texts, n_process=2, batch_size=8))
    assert [doc._.trees for doc in two] == [doc._.trees for doc in one]
    probabilities = [[sentence._.probability for doc in docs for sentence in doc.sents] for docs in (one, two)]
    assert probabilities[1] == pytest.approx(probabilities[0], abs=1e-4)
    assert [context for _, context in nlp.pipe([("We slept.", 1), ("", 2)], as_tuples=True, n_process=2)] == [1, 2]


def test_a_saved_pipeline_can_be_loaded(nlp: Language, folder: str, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert loaded.pipe_names == ["sentencizer", "treecrf"]
    assert loaded.config["components"]["treecrf"]["model"] == folder
    assert loaded(TEXT)._.trees == nlp(TEXT)._.trees
    copy = pipeline(folder).from_bytes(nlp.to_bytes())
    assert copy(TEXT)._.trees == nlp(TEXT)._.trees


def test_the_config_can_name_a_moved_model(nlp: Language, parser: Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "there")
    pipeline(str(tmp_path / "there")).to_disk(tmp_path / "pipeline")
    (tmp_path / "there").rename(tmp_path / "here")
    with pytest.raises(FileNotFoundError, match="there is no model"):
        spacy.load(tmp_path / "pipeline")
    config = {"components": {"treecrf": {"model": str(tmp_path / "here")}}}
    assert spacy.load(tmp_path / "pipeline", config=config)(TEXT)._.trees == nlp(TEXT)._.trees


def test_a_pickled_component_loads_its_model_again(nlp: Language) -> None:
    component = pickle.loads(pickle.dumps(nlp.get_pipe("treecrf")))
    assert component.name == "treecrf"
    assert component(nlp.get_pipe("sentencizer")(nlp.make_doc(TEXT)))._.trees == nlp(TEXT)._.trees


def test_a_docbin_keeps_trees(nlp: Language, tmp_path: Path) -> None:
    docs = list(nlp.pipe(random_texts(20)))
    DocBin(docs=docs, store_user_data=True).to_disk(tmp_path / "docs.spacy")
    loaded = list(DocBin().from_disk(tmp_path / "docs.spacy").get_docs(nlp.vocab))
    assert [doc._.trees for doc in loaded] == [doc._.trees for doc in docs]
    assert [[s._.parse_string for s in doc.sents] for doc in loaded] == [
        [s._.parse_string for s in doc.sents] for doc in docs
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t"])
def test_documents_without_words_have_no_trees(nlp: Language, text: str) -> None:
    for doc in [nlp(text), *nlp.pipe([text, "We slept.", text])][:2]:
        assert doc._.trees == ()
        assert all(sentence._.parse_string == "" for sentence in doc.sents)


def test_white_space_is_not_parsed(nlp: Language, parser: Parser) -> None:
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


def test_words_of_a_document_are_not_tokenized_again(nlp: Language, parser: Parser) -> None:
    given_words = ["The", "cat's", "New York", "(", "see", "\u200b", ")", "."]
    doc = nlp(Doc(nlp.vocab, words=given_words, spaces=[False] * len(given_words)))
    assert doc._.trees == (parser.parse(given_words),)
    assert doc[:]._.tree.words == given_words
    assert [token._.tree.words for token in doc] == [[word] for word in given_words]


def test_a_document_without_sentence_boundaries_is_an_error(folder: str, parser: Parser) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf", config={"model": folder, "device": "cpu"})
    with pytest.raises(ValueError, match=r"'We slept.' has no sentence boundaries; .*add_pipe\('sentencizer', before="):
        nlp("We slept.")
    starts = Doc(nlp.vocab, words=["We", "slept", "."], sent_starts=[True, False, False])
    assert nlp(starts)._.trees == (parser.parse(["We", "slept", "."]),)
    assert nlp(Doc(nlp.vocab, words=["Rain"]))._.trees == (parser.parse(["Rain"]),)


def test_other_documents_are_parsed_if_one_fails(folder: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf", config={"model": folder, "device": "cpu"})
    good = [Doc(nlp.vocab, words=["We", "slept", "."], sent_starts=[True, False, False]) for _ in range(3)]
    bad = Doc(nlp.vocab, words=["no", "start"])
    with pytest.raises(ValueError, match="has no sentence boundaries"):
        list(nlp.pipe([good[0], bad, good[1]]))
    nlp.set_error_handler(ignore_error)
    assert list(nlp.pipe([good[0], bad, good[1], good[2]])) == good
    assert all(doc._.trees for doc in good)


def test_tags_of_the_pipeline_are_kept(nlp: Language, folder: str) -> None:
    predicted = nlp("We slept.")._.trees[0].tags
    tagging = pipeline(folder)
    ruler = tagging.add_pipe("attribute_ruler", before="treecrf")
    ruler.add([[{"LOWER": "we"}], [{"LOWER": "."}]], {"TAG": "MINE"})
    doc = tagging("We slept.")
    assert doc._.trees[0].tags == ["MINE", predicted[1], "MINE"]
    assert [token.tag_ for token in doc] == ["MINE", "", "MINE"]
    assert "(MINE We)" in doc[0]._.parse_string


def test_tags_of_the_model_are_set_with_predict(nlp: Language, folder: str) -> None:
    predicted = nlp("We slept.")._.trees[0].tags
    tagging = pipeline(folder, tags="predict")
    ruler = tagging.add_pipe("attribute_ruler", before="treecrf")
    ruler.add([[{}]], {"TAG": "MINE"})
    doc = tagging("We  slept.")
    assert doc._.trees[0].tags == predicted
    assert [token.tag_ for token in doc] == [predicted[0], "MINE", *predicted[1:]]


def test_predict_needs_a_model_that_predicts_tags(tmp_path: Path) -> None:
    random_parser(TREES).save(tmp_path / "none")
    with pytest.raises(ValueError, match=r"cannot predict tags: the model .* does not predict them"):
        pipeline(str(tmp_path / "none"), tags="predict")
    assert pipeline(str(tmp_path / "none"))("We slept.")._.trees[0].tags == ["_", "_", "_"]


def test_a_model_that_reads_tags_gets_those_of_the_pipeline(tmp_path: Path) -> None:
    reader = random_parser(TREES, tag_size=8)
    reader.save(tmp_path / "reader")
    nlp = pipeline(str(tmp_path / "reader"))
    with pytest.raises(ValueError, match=r"token 0 \('We'\) of the document has no tag; add a tagger"):
        nlp("We slept.")
    tags = ["PRP", "VBD", "."]
    doc = nlp(Doc(nlp.vocab, words=["We", "slept", "."], tags=tags))
    assert doc._.trees == (reader.parse(["We", "slept", "."], tags=tags),)
    with pytest.raises(ValueError, match=r"the model .* has them as input"):
        pipeline(str(tmp_path / "reader"), tags="predict")


def test_settings_of_benepar_work(folder: str) -> None:
    component = pipeline(folder, subbatch_max_tokens=300, disable_tagger=True).get_pipe("treecrf")
    assert (component.batch_words, component.tags) == (300, "keep")
    assert pipeline(folder, disable_tagger=False).get_pipe("treecrf").tags == "predict"


def test_decoding_and_batches_can_be_set(folder: str, parser: Parser, nlp: Language) -> None:
    text = " ".join(random_texts(20))
    doc = pipeline(folder, mbr=False, batch_words=20)(text)
    assert doc._.trees == tuple(parser.parse(words(s), mbr=False) for s in doc.sents if words(s))
    assert doc._.trees != nlp(text)._.trees


def test_a_wrong_setting_is_an_error(folder: str) -> None:
    for invalid in ({"tags": "guess"}, {"modle": "en"}, {"batch_words": "many"}):
        with pytest.raises(ValueError, match=next(iter(invalid))):
            pipeline(folder, **invalid)


def test_the_default_model_is_that_of_the_language() -> None:
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
            doc._.trees  # noqa: B018  # reading the attribute is the test
    assert len(nlp("We slept.")._.trees) == 1


def test_the_last_of_two_components_sets_the_trees(folder: str, parser: Parser) -> None:
    nlp = pipeline(folder)
    with pytest.raises(ValueError, match="already exists"):
        nlp.add_pipe("treecrf", config={"model": folder})
    nlp.add_pipe("treecrf", name="second", config={"model": folder, "device": "cpu", "mbr": False})
    doc = nlp(TEXT)
    assert doc._.trees == tuple(parser.parse(words(s), mbr=False) for s in doc.sents)


def test_a_component_can_be_copied_to_another_pipeline(nlp: Language) -> None:
    other = spacy.blank("en", vocab=nlp.vocab)
    other.add_pipe("sentencizer")
    other.add_pipe("treecrf", source=nlp)
    assert other(TEXT)._.trees == nlp(TEXT)._.trees


def test_parsing_again_replaces_all_trees(nlp: Language) -> None:
    doc = nlp("We slept. She sang.")
    doc[3].is_sent_start = False
    nlp.get_pipe("treecrf")(doc)
    assert [tree.words for tree in doc._.trees] == [["We", "slept", ".", "She", "sang", "."]]


def test_component_declares_its_requirements_and_attributes(nlp: Language) -> None:
    assert nlp.analyze_pipes()["problems"]["treecrf"] == []
    assert "doc._.trees" in nlp.analyze_pipes()["attrs"]
    assert isinstance(nlp.get_pipe("treecrf"), TreeCRFComponent)


@pytest.mark.parametrize("splitter", ["sentencizer", "senter", "parser"])
def test_any_component_may_set_sentence_boundaries(splitter: str, folder: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("treecrf", config={"model": folder, "device": "cpu"})
    assert nlp.analyze_pipes()["problems"]["treecrf"] != []
    nlp.add_pipe(splitter, first=True)
    assert nlp.analyze_pipes()["problems"]["treecrf"] == []

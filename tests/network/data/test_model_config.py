import pytest

from treecrf.network.data.model_config import BertConfig, ModelConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"loss": "hinge"},
            "loss is 'hinge'; expected one of 'two-stage', 'tree', 'one-stage-crf', 'one-stage-margin'",
        ),
        ({"lstm_size": 0}, "lstm_size is 0; expected 1 or more"),
        ({"tag_size": -1}, "tag_size is -1; expected 0 or more"),
        ({"dropout": 1.0}, "dropout is 1.0; expected at least 0 and less than 1"),
        ({"margin": -1.0}, "margin is -1.0; expected 0 or more"),
        ({"encoder": "transformer", "transformer": "x", "boundary": "same-word"}, "the setting is for LSTMs"),
        ({"char_size": 7}, "char_size is 7; expected an even number"),
        ({"encoder": "transformer", "transformer": "x", "tag_size": 8}, "reads tags only with add_word_inputs"),
        ({"tag_capitals": True}, "the setting is for models that predict tags"),
        ({"encoder": "transformer"}, "set it to a model's name or folder"),
    ],
)
def test_the_error_for_an_invalid_setting_names_it(changes, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**changes)


def test_a_transformer_with_word_inputs_reads_tags():
    config = ModelConfig(encoder="transformer", transformer="x", add_word_inputs=True, tag_size=8)
    assert config.word_input_size == config.word_size + config.char_size + 8


@pytest.mark.parametrize(
    "setting",
    [
        {"model_type": "roberta"},
        {"hidden_act": "relu"},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"add_cross_attention": True},
    ],
    ids=str,
)
def test_other_configs_than_a_plain_bert_are_rejected(setting):
    assert BertConfig.from_dict({"model_type": "bert", "hidden_size": 24}) is not None
    assert BertConfig.from_dict({"model_type": "bert", "hidden_size": 24} | setting) is None


def test_the_hidden_size_must_be_a_multiple_of_the_heads():
    with pytest.raises(ValueError, match="hidden_size is 10; expected a multiple of the 4 heads"):
        BertConfig(hidden_size=10, num_attention_heads=4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_dropout_prob": "0.1"}, "hidden_dropout_prob is '0.1'; expected at least 0 and less than 1"),
        ({"attention_probs_dropout_prob": 1.0}, "attention_probs_dropout_prob is 1.0"),
        ({"layer_norm_eps": -1e-12}, "layer_norm_eps is -1e-12"),
        ({"vocab_size": 0}, "vocab_size is 0; expected 1 or more"),
        ({"vocab_size": (1 << 24) + 1}, "expected at most 16,777,216"),
        ({"num_hidden_layers": 1001}, "num_hidden_layers is 1001; expected at most 1,000"),
        ({"hidden_size": 12 * 8192}, "hidden_size is 98304; expected at most 65,536"),
        ({"hidden_size": True}, "hidden_size is True"),
        ({"vocab_size": 5, "pad_token_id": 5}, "pad_token_id is 5; expected the id of one of 5 pieces"),
        ({"pad_token_id": -1}, "pad_token_id is -1"),
        ({"relative_attention_num_buckets": 3}, "relative_attention_num_buckets is 3; expected 0, or 4 to 511"),
        ({"relative_attention_num_buckets": 512}, "relative_attention_num_buckets is 512; expected 0, or 4 to 511"),
    ],
)
def test_the_error_for_an_invalid_encoder_names_the_field(changes, message):
    with pytest.raises(ValueError, match=message):
        BertConfig(**changes)


def test_sizes_and_ids_at_the_limits_are_accepted():
    assert BertConfig(vocab_size=1 << 24, num_hidden_layers=1000, pad_token_id=(1 << 24) - 1, hidden_dropout_prob=0)
    assert BertConfig(pad_token_id=None).pad_token_id is None

import math

import pytest

from gredkit.errors import UserError
from gredkit.training.recipe import Recipe


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("epochs", 0, "epochs is a whole number from 1 to 1,000,000,000, not 0"),
        ("epochs", 2.5, "epochs is a whole number from 1 to 1,000,000,000, not 2.5"),
        ("epochs", True, "epochs is a whole number from 1 to 1,000,000,000, not True"),
        ("batch_size", 0, "batch_size is a whole number from 1 to 1,000,000,000, not 0"),
        ("learning_rate", 0, "learning_rate is a number above 0, not 0"),
        ("learning_rate", math.nan, "learning_rate is a number above 0, not nan"),
        ("learning_rate", "1e-3", "learning_rate is a number above 0, not '1e-3'"),
        ("weight_decay", -0.1, "weight_decay is a number, 0 or more, not -0.1"),
        ("recurrent_factor", math.inf, "recurrent_factor is a number, 0 or more, not inf"),
        ("checkpoint_seconds", -1, "checkpoint_seconds is a number, 0 or more, not -1"),
        ("warmup", 1.1, "warmup is a share from 0 to 1, not 1.1"),
        ("clip_norm", 0, "clip_norm is a number above 0, not 0"),
        ("patience", 0, "patience is a whole number from 1 to 1,000,000,000, not 0"),
        ("optimizer", "sgd", "optimizer is one of adamw, adam, not 'sgd'"),
        ("schedule", "step", "schedule is one of cosine, plateau, constant, not 'step'"),
        ("plateau_factor", 2, "plateau_factor is a share from 0 to 1, not 2"),
        ("plateau_patience", -1, "plateau_patience is a whole number from 0 to 1,000,000,000, not -1"),
        ("least_rate", -1, "least_rate is a number, 0 or more, not -1"),
        ("precision", "half", "precision is one of float32, bfloat16, float16, not 'half'"),
        ("compile", "yes", "compile is True or False, not 'yes'"),
        ("train_score", 1, "train_score is True or False, not 1"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_sentence(name, value, sentence):
    with pytest.raises(UserError) as error:
        Recipe(**{name: value})
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epochs", 1), ("epochs", 10**9), ("batch_size", 1), ("weight_decay", 0), ("recurrent_factor", 0)),
        *(("warmup", 0), ("warmup", 1), ("patience", 1), ("checkpoint_seconds", 0), ("precision", "float16")),
    ],
)
def test_the_ends_of_the_ranges_are_fine_and_kept_as_they_are(name, value):
    assert getattr(Recipe(**{name: value}), name) == value

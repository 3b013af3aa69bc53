"""The curve of a trial as a tag: short, and true to the epochs that it keeps."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gredkit.tracking.measured import POINTS, curve
from gredkit.tracking.sending import LONGEST

NUMBERS = st.floats(-1e6, 1e6)


@given(st.integers(1, 5 * POINTS), NUMBERS, NUMBERS)
def test_it_has_the_ends_and_no_more_points_than_fit(epochs, loss, score):
    events = [
        {"event": "epoch", "epoch": epoch, "train_loss": loss / (1 + epoch), "validation": score / (1 + epoch)}
        for epoch in range(epochs)
    ]
    text = curve([{"event": "started"}, *events])
    told = json.loads(text)
    assert len(text) <= LONGEST
    assert len(told["epoch"]) == min(epochs, POINTS)
    assert (told["epoch"][0], told["epoch"][-1]) == (0, epochs - 1)
    assert told["epoch"] == sorted(set(told["epoch"]))
    for epoch, train, validation in zip(told["epoch"], told["train_loss"], told["validation"], strict=True):
        assert train == pytest.approx(events[epoch]["train_loss"], rel=1e-3)
        assert validation == pytest.approx(events[epoch]["validation"], rel=1e-3)


def test_without_an_epoch_there_is_none():
    assert curve([{"event": "started"}, {"event": "ended"}]) == ""

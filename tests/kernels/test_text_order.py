"""The alphabet: texts in order, whatever the pieces that they lie in, and labels that follow them."""

import random

import numpy as np
import pyarrow as pa
import pytest

from skyband.kernels import text_order as module
from skyband.kernels.object_ids import Lexicon
from skyband.kernels.text_order import NOWHERE, Alphabet


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 3)


@pytest.mark.parametrize("order", ["up", "down", "mixed"])
@pytest.mark.parametrize("n_filled", [0, 1, 7])
def test_texts_are_in_order_with_their_neighbours(order: str, n_filled: int) -> None:
    numbers = {"up": range(60), "down": range(59, -1, -1), "mixed": random.Random(1).sample(range(60), 60)}[order]
    texts = [f"{i:03}" for i in numbers]
    slot_of, alphabet, known = {text: slot for slot, text in enumerate(texts)}, Alphabet(), sorted(texts[:n_filled])
    alphabet.fill(known, np.array([slot_of[text] for text in known], np.int64))
    for text in texts[n_filled:]:
        place = alphabet.insert(text, slot_of[text])
        known = sorted([*known, text])
        slots, at = [NOWHERE, *(slot_of[each] for each in known), NOWHERE], known.index(text)
        assert alphabet.neighbours(*place) == (slots[at], slots[at + 2])
        alphabet.check()
    assert list(alphabet) == [(text, slot_of[text]) for text in sorted(texts)]
    assert alphabet.slots(0, alphabet.n_pieces).tolist() == [slot_of[text] for text in sorted(texts)]
    assert alphabet.n_pieces >= 10
    assert alphabet.n_bytes == 75 * 60


@pytest.mark.parametrize("fair", [2, 2**12, 2**56])
def test_labels_are_spread_over_as_many_pieces_as_it_takes(fair: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skyband.kernels.object_ids.FAIR", fair)
    lexicon = Lexicon()
    for i in range(120):
        # Every second one comes last before "mb": the gap there is halved every time.
        lexicon.slots(pa.array(["m" + "ab"[i % 2] * (i // 2 + 1)]))
        lexicon.check()

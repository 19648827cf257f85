"""The bounds of the Skype paper by its own worked examples (Figure 5), and their rounding."""

import numpy as np
import pytest

from skyband.geotext.kernels.igpt import (
    HUGE,
    is_hopeless,
    is_in_prefix,
    k_score_star,
    make_lists,
    near_bound,
    open_lists,
    place_need,
    rounded_down,
    rounded_up,
    text_need,
    total_room,
    unseen_bound,
)

S1 = [0.4, 0.3, 0.2, 0.1]
S2 = [0.7, 0.5, 0.2]
S3 = [0.5, 0.4, 0.3, 0.1]
# By word; the messages do not have w1.
M2 = [0.0, 0.4, 0.2, 0.1]
M3 = [0.0, 0.7, 0.3, 0.2]


def prefix(weights: list[float], need: float, said: list[float] | None = None) -> list[int]:
    """The numbers of the words in the prefix, refined where the weights of a message are given."""
    caps = [1.0 if said is None else max(said[i:]) for i in range(len(weights))]
    return [i + 1 for i in range(len(weights)) if is_in_prefix(sum(weights[i:]), caps[i], need)]


def test_examples_2_and_3_prefix() -> None:
    need = text_need(0.7, 0.6, 0.98)
    assert need == pytest.approx(0.28)
    assert prefix(S1, need) == [1, 2, 3]


def test_example_4_refined_prefix() -> None:
    need = text_need(0.7, 0.6, 0.99)
    assert need == pytest.approx(0.265)
    assert prefix(S1, need) == [1, 2, 3]
    assert prefix(S1, need, M2) == [1]


def test_example_5_spatial_bounds() -> None:
    assert near_bound(0.25, 0.0, 1.6) == pytest.approx(0.84375)
    assert near_bound(0.0, 0.3, 1.6) == pytest.approx(0.8125)
    near = near_bound(0.25, 0.3, 1.6)
    assert near == pytest.approx(0.65625)
    assert text_need(0.6, 0.5, 1.0) == pytest.approx(0.2)
    assert prefix(S2, text_need(0.6, 0.5, 1.0), M2) == [1, 2]
    need = text_need(0.6, 0.5, near)
    assert need == pytest.approx(0.54375)
    assert prefix(S2, need, M2) == [1]
    assert near_bound(5.0, 5.0, 1.6) == 0.0


def test_example_6_unseen_words() -> None:
    need = 0.48
    assert prefix(S3, need, M3) == [1, 2]
    left = unseen_bound(sum(S3[2:]), max(M3[2:]), sum(M3[2:]), max(S3[2:]))
    assert left == pytest.approx(0.12)
    assert S3[1] * M3[1] + left < need


def test_groups_are_pruned_by_the_subscription_dependent_prefix() -> None:
    # Lemma 4 and Theorem 3 for a group of s1 alone: maxwt(s1.w2) · wtsum(m2.w2) = 0.21.
    alpha_star, needed = 0.6 / 0.4, 0.7 / 0.4
    assert is_hopeless(0.3, 0.7, needed, alpha_star, 0.99)
    assert not is_hopeless(0.3, 0.7, needed, alpha_star, 1.03)


def test_alphas_at_the_ends_divide_by_no_zero() -> None:
    assert text_need(0.9, 1.0, 0.95) < 0.0 < text_need(0.9, 1.0, 0.85)
    assert text_need(0.9, 0.0, 1.0) == 0.9
    assert place_need(1.1, 0.0) > 1.0 > 0.0 > place_need(0.9, 0.0)
    assert place_need(0.9, 1.0) == 0.9
    assert place_need(0.9, 0.5) == pytest.approx(0.8, abs=1e-4)
    assert place_need(np.inf, 0.0) == np.inf
    assert text_need(-np.inf, 1.0, 0.5) == -np.inf


def test_numbers_are_rounded_to_the_safe_side() -> None:
    random = np.random.default_rng(1)
    numbers = random.normal(size=300) * 10.0 ** random.integers(-50, 30, 300)
    for x in [*numbers.tolist(), 0.0, 1.0, 0.1, 1e9]:
        up, down = float(rounded_up(x)), float(rounded_down(x))
        assert down <= x <= up
        assert up - down <= 1e-6 * abs(x) + 1e-36
    for x in (np.inf, 1e200, HUGE):
        assert float(rounded_down(x)) > 0.99 * HUGE
        assert np.isfinite(rounded_up(x))
        assert float(rounded_up(-x)) < -0.99 * HUGE
        assert np.isfinite(rounded_down(-x))
    for gate, alpha in [(-0.7, 0.6), (0.0, 0.5), (np.inf, 1.0), (-np.inf, 0.0), (-1e150, 1.0), (-0.9, 1.0)]:
        need = float(k_score_star(gate, alpha))
        assert np.isfinite(need)
        assert need <= max(-gate / max(1.0 - alpha, 1e-9), -0.99 * HUGE)


def test_rooms() -> None:
    assert [total_room(np.array([n])) for n in (1, 2, 3, 4, 5, 6, 7, 9, 13, 1000)] == [
        1,
        2,
        3,
        4,
        6,
        6,
        8,
        12,
        16,
        1024,
    ]
    assert total_room(np.array([1, 5, 7])) == 15


def test_lists_are_opened_in_the_order_of_their_chains() -> None:
    lists = make_lists(5, 4, 20)
    open_lists(np.array([1, 1, 3]), np.array([4, 9, 0]), np.array([1, 5, 2]), lists)
    assert lists.chain.tolist() == [-1, 0, -1, 2]
    assert lists.head[:3].tolist() == [[4, 1, 0, 0, 1, 1, -1], [9, 1, 1, 0, 6, -1, 0], [0, 3, 7, 0, 2, -1, -1]]
    assert lists.used.tolist() == [9, 3, -1, 0]
    assert sorted(lists.table.tolist())[-3:] == [0, 1, 2]

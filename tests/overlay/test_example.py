"""What is drawn of each strategy is what the tests of the figures say that it sends."""

import pytest

from skyband.overlay.simulate.example import LETTERS, scenes_of
from skyband.overlay.strategy import STRATEGIES

FLOOD_FROM_E = ["E>D", "D>C", "D>F", "C>A", "C>B"]
SENT = {
    "publication-flooding": [[], ["A>C", "C>B", "C>D", "D>E", "D>F"], []],
    "subscription-flooding": [FLOOD_FROM_E, ["A>E"], FLOOD_FROM_E],
    "covering": [FLOOD_FROM_E, ["A>C", "C>D", "D>E"], FLOOD_FROM_E],
    "rendezvous": [["E>D", "D>C", "C>B"], ["A>C", "C>B", "B>E"], []],
    "basic-gossiping": [[], ["A>C", "C>D"], []],
    "informed-gossiping": [["E>D"], ["A>C", "C>D", "D>E"], ["E>D"]],
    "zone-leases": [["E>A", "E>B", "E>C", "E>D", "E>F"], ["A>B", "B>E"], ["E>A", "E>C", "E>D", "E>F"]],
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_scenes_are_those_of_the_figures(strategy: str) -> None:
    scenes = scenes_of(strategy)
    assert [scene.title for scene in scenes] == ["E subscribes", "A publishes", "the gate of E moves"]
    assert [[f"{LETTERS[hop.source]}>{LETTERS[hop.target]}" for hop in scene.hops] for scene in scenes] == SENT[
        strategy
    ]

"""The city, its day, the messages and the subscribers."""

import numpy as np
import pytest

from skyband.contract.family import FAMILIES
from skyband.demo.city import BANK, bounds
from skyband.demo.day import CLOSES, OPENS, clock, happening
from skyband.demo.message import content_words
from skyband.demo.scene import STEP, Scene, make_scene, steps
from skyband.demo.subscriber import ROLES, titles
from skyband.demo.topic import FRAMES, SPOTS, TOPICS, CityTopic
from skyband.table import Settings


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(3, 60, 900)


def test_a_seed_is_a_scene(scene: Scene) -> None:
    again, other = make_scene(3, 60, 900), make_scene(4, 60, 900)
    assert again.publications.equals(scene.publications)
    assert again.subscriptions.equals(scene.subscriptions)
    assert not other.publications.equals(scene.publications)


def test_sizes_do_not_shift_other_parts(scene: Scene) -> None:
    more = make_scene(3, 80, 900)
    assert more.city == scene.city
    assert more.publications.equals(scene.publications)


def test_every_row_is_one_that_an_engine_takes(scene: Scene) -> None:
    family, settings = FAMILIES["geotext"], Settings(bounds=bounds())
    assert family.parse_publications is not None
    assert family.parse_publications(scene.publications, settings).rejects == []
    assert family.parse_subscriptions(scene.subscriptions, settings).rejects == []


def test_nobody_speaks_from_the_river(scene: Scene) -> None:
    x, y = scene.messages.xy.T
    assert np.all(np.abs(y - scene.city.river(x)) >= BANK - 1e-9)


def test_steps_hold_every_message_once_and_in_order(scene: Scene) -> None:
    batches = steps(scene.messages)
    assert [end for _, _, end in batches[:-1]] == [begin for _, begin, _ in batches[1:]]
    assert (batches[0][1], batches[-1][2]) == (0, 900)
    assert batches[-1][0] == CLOSES
    assert np.all(np.diff(scene.messages.ts) >= 0)
    for minute, begin, end in batches:
        assert all(minute - STEP <= scene.messages.minute(number) < minute for number in range(begin, end))


def test_the_day_has_a_rhythm() -> None:
    messages = make_scene(3, 3, 6000).messages
    by_hour = [messages.until(hour + 60) - messages.until(hour) for hour in range(OPENS, CLOSES, 60)]
    lunch, afternoon, derby = by_hour[6], by_hour[8], by_hour[14]
    assert by_hour[0] < afternoon < lunch < derby


def test_events_are_what_is_happening(scene: Scene) -> None:
    derby = next(event for event in scene.events if "derby" in event.headline)
    assert derby.headline in happening(scene.events, derby.start)
    assert derby.headline not in happening(scene.events, derby.end)
    assert {happening((), minute) for minute in (OPENS, CLOSES)} == {"the city wakes up", "midnight"}
    assert clock(OPENS + 65) == "07:05"


def test_shown_subscribers_come_first_and_have_no_names(scene: Scene) -> None:
    assert scene.subscribers.words[: len(ROLES)] == [list(role.words) for role in ROLES]
    assert all(title.startswith("a ") and " in " in title for title in titles(scene.city))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_every_followed_word_is_said(topic: CityTopic) -> None:
    said = {word for thing in topic.things for word in content_words(thing)}
    assert set(topic.words) <= said


def test_sentences_are_whole() -> None:
    filled = [frame.format(thing="", Thing="", spot=SPOTS[0], place="", remark="", Remark="") for frame in FRAMES]
    assert not any(brace in text for text in filled for brace in "{}")


def test_content_words_are_distinct_and_say_something() -> None:
    assert content_words("Just found the derby in the North Stand, the derby!") == ["derby", "north", "stand"]

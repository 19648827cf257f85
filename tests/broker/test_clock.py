"""The clock of a broker by a machine's clock that is moved by hand."""

import logging

import pytest

from skyband.broker.clock import BrokerClock

SECOND = 1_000_000


class Machine:
    """A clock that may leap, time that passes evenly, and a journal that notes how far it may go."""

    def __init__(self) -> None:
        self.wall, self.steady, self.lease = 1000 * SECOND, 0, 10**15

    def pass_time(self, us: int) -> None:
        """Time passes for both."""
        self.wall += us
        self.steady += us

    def clock(self) -> BrokerClock:
        """A broker's clock by this one."""
        return BrokerClock(lambda: self.lease, lambda: self.wall, lambda: self.steady)


@pytest.fixture
def machine() -> Machine:
    found = Machine()
    found.lease = 0
    return found


def started(machine: Machine) -> BrokerClock:
    """A clock that may go on."""
    clock = machine.clock()
    machine.lease = 10**15
    return clock


def test_it_is_that_of_the_machine(machine: Machine) -> None:
    clock = started(machine)
    for us in (0, 1, 3, 999, SECOND):
        machine.pass_time(us)
        assert clock.now() == machine.wall


def test_small_steps_are_followed(machine: Machine) -> None:
    clock = started(machine)
    machine.wall += 3 * SECOND
    assert clock.now() == machine.wall


def test_it_never_goes_back(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    clock = started(machine)
    before = clock.now()
    machine.wall -= 60 * SECOND
    told = []
    for _ in range(200):
        machine.pass_time(SECOND)
        told.append(clock.now())
    assert told == sorted(told)
    assert told[0] == before + SECOND // 2
    assert told[-1] == machine.wall
    assert [record.message.partition(" is ")[0] for record in caplog.records] == [
        "The clock of this machine",
        "The clock of this machine and the broker's time agree again.",
    ]


def test_a_leap_ahead_is_caught_up_with_slowly(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    clock = started(machine)
    before = clock.now()
    machine.wall += 3600 * SECOND
    machine.pass_time(SECOND)
    assert clock.now() == before + 2 * SECOND
    assert "ahead of the broker's time" in caplog.text
    assert clock.is_off
    for _ in range(3700):
        machine.pass_time(SECOND)
        clock.now()
    assert clock.last == machine.wall
    assert not clock.is_off


def test_it_stands_still_where_the_journal_does(machine: Machine, caplog: pytest.LogCaptureFixture) -> None:
    clock = started(machine)
    machine.lease = clock.now() + SECOND
    machine.pass_time(600 * SECOND)
    assert clock.now() == machine.lease
    machine.lease = 10**15
    assert clock.now() == machine.wall
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_life_begins_where_the_one_before_may_have_ended(machine: Machine) -> None:
    machine.lease = machine.wall + 30 * SECOND
    clock = machine.clock()
    assert clock.now() >= machine.lease

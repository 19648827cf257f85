"""Sites on one machine: network namespaces joined by a bridge in one of their own, over thin wires that can be cut.

A process of its own, the keeper, takes everything away again when this one ends, in whatever way it does.
"""

import ctypes
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import pytest

Made = TypeVar("Made")
VARIABLE = "SKYBAND_REQUIRE_NAMESPACES"
HUB = "hub"
NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of sched.h."""
# netem delays what passes; kernels that are built without it have tbf, by which it waits for its turn only.
SHAPES = ("netem delay {delay} rate {rate}", "tbf rate {rate} burst 32kb latency 400ms")
# What still runs in a namespace would keep it. Nothing is left to do where a name is gone already.
KEEPER = """
cat > /dev/null
for name in $(ip netns list | cut -d' ' -f1 | grep "^$0-"); do
    ip netns pids "$name" | xargs -r kill -9
    ip netns delete "$name"
done
"""


class Namespaces:
    """A namespace for each site, with an address there; to be used in a `with` statement."""

    def __init__(self, sites: Sequence[str], rate: str = "20mbit", delay: str = "5ms") -> None:
        self.sites = tuple(sites)
        self.prefix = f"skyband-{os.getpid()}-{id(self):x}"
        self.shape = ""
        self._rate, self._delay = rate, delay
        self._cut: set[tuple[str, ...]] = set()
        self._keeper: subprocess.Popen[bytes]

    def __enter__(self) -> Self:
        # In a session of its own, so that Ctrl-C is not for it.
        command = ["sh", "-c", KEEPER, self.prefix]
        self._keeper = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
        try:
            self._make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Have the keeper end every process in the namespaces, and take these away."""
        assert self._keeper.stdin is not None
        self._keeper.stdin.close()
        assert self._keeper.wait() == 0, "The keeper could not take everything away."

    def address(self, site: str) -> str:
        """Where others reach a site."""
        return f"10.77.0.{self.sites.index(site) + 1}"

    def command(self, site: str) -> list[str]:
        """What a command begins with that is run at a site."""
        return ["ip", "netns", "exec", self._name(site)]

    def inside(self, site: str, make: Callable[[], Made]) -> Made:
        """What a call makes whose sockets, and those of threads that it starts, shall be those of a site."""
        made: list[Made] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                _enter(self._name(site))
                made.append(make())
            except BaseException as error:
                failed.append(error)

        # The namespace is that of a thread, and of those that it starts: this one stays where it is.
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]
        return made[0]

    def cut(self, *sites: str) -> None:
        """Lose, without a word, everything that one site sends or is sent, or everything between two of them."""
        self._set(sites, True)

    def mend(self) -> None:
        """Let everything through again."""
        for sites in list(self._cut):
            self._set(sites, False)

    def _set(self, sites: tuple[str, ...], is_cut: bool) -> None:
        (self._cut.add if is_cut else self._cut.discard)(sites)
        if len(sites) == 1:
            _ip(self._name(HUB), f"link set {self._wire(sites[0])} {'down' if is_cut else 'up'}")
            return
        for here, there in (sites, sites[::-1]):
            _ip(self._name(here), f"route {'replace' if is_cut else 'del'} blackhole {self.address(there)}/32")

    def _make(self) -> None:
        for name in (HUB, *self.sites):
            _run(["ip", "netns", "add", self._name(name)])
        _ip(self._name(HUB), "link add bridge type bridge", "link set bridge up")
        for site in self.sites:
            wire = self._wire(site)
            _ip(
                self._name(HUB),
                f"link add {wire} type veth peer name uplink netns {self._name(site)}",
                f"link set {wire} master bridge",
                f"link set {wire} up",
            )
            _ip(
                self._name(site),
                "link set lo up",
                f"address add {self.address(site)}/24 dev uplink",
                "link set uplink up",
            )
        self.shape = next(
            shape for shape in SHAPES if self._is_shaped(shape.format(rate=self._rate, delay=self._delay))
        )

    def _is_shaped(self, shape: str) -> bool:
        """Make all wires thin, both ways; false where the kernel does not know how."""
        wires = [(self._name(site), "uplink") for site in self.sites]
        wires += [(self._name(HUB), self._wire(site)) for site in self.sites]
        for name, wire in wires:
            command = ["tc", "-n", name, "qdisc", "replace", "dev", wire, "root", *shape.split()]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode and shape.startswith("netem"):
                return False
            assert done.returncode == 0, done.stderr
        return True

    def _name(self, site: str) -> str:
        return f"{self.prefix}-{site}"

    def _wire(self, site: str) -> str:
        return f"wire{self.sites.index(site)}"


def need_namespaces() -> None:
    """Skip a test where no namespaces can be made, or let it fail if they are required."""
    reason = reason_against()
    if reason:
        _give_up(reason)


def reason_against() -> str:
    """Why no namespaces can be made here; empty if they can."""
    if shutil.which("ip") is None or shutil.which("tc") is None:
        return "There is no ip or no tc: install iproute2."
    if os.geteuid() != 0:
        return "Namespaces can be made by root only."
    try:
        with Namespaces(("here", "there")) as made:
            made.inside("here", lambda: None)
    except (AssertionError, OSError) as error:
        return f"Namespaces cannot be made: {error}"
    return ""


def _give_up(reason: str) -> NoReturn:
    if os.environ.get(VARIABLE) == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def _ip(name: str, *commands: str) -> None:
    """Run commands of ip in a namespace."""
    _run(["ip", "-n", name, "-batch", "-"], "\n".join(commands))


def _run(command: Sequence[str], given: str = "") -> None:
    done = subprocess.run(command, input=given, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"


def _enter(name: str) -> None:
    """Move this thread into a namespace."""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    place = os.open(f"/var/run/netns/{name}", os.O_RDONLY)
    try:
        if libc.setns(place, NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), name)
    finally:
        os.close(place)

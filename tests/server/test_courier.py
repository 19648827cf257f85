"""Sending webhooks with a clock that is set by hand, to receivers that are slow, hostile, gone or elsewhere."""

import asyncio
import contextlib
import itertools
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from skyband.client.webhook_message import BadSignature, verify_webhook
from skyband.server.meter import Meters
from skyband.server.store.database import SqliteDatabase
from skyband.server.webhook.courier import Courier, HookDesk
from skyband.server.webhook.hook_base import SCHEMA, VERSION, HookBase
from skyband.server.webhook.kept import KeptHook
from skyband.server.webhook.message_store import NewMessage
from skyband.server.webhook.post import PostFailed, post
from skyband.server.webhook.schedule import ATTEMPTS, HOUR, MINUTE, SECOND, next_attempt
from skyband.server.webhook.signature import HookSecret, new_secret, signature, signed_headers
from skyband.server.webhook.target import BadTarget, HookTarget, checked_address, read_target
from tests.server.receiving import Receiver

BEGIN = 1_700_000_000 * SECOND


class ManualWorld:
    """A desk with a clock that is set by hand, and names that lead where they are told to."""

    def __init__(self, folder: Path, allow_private: bool = True) -> None:
        self.now = BEGIN
        self.names: Callable[[], list[str]] = lambda: ["127.0.0.1"]
        self.base = HookBase(SqliteDatabase(folder / "webhooks.sqlite", SCHEMA, VERSION))
        self.desk = HookDesk(self.base, Meters(), allow_private, lambda: self.now, self._look_up, draw=lambda: 0.0)

    async def _look_up(self, host: str, port: int) -> list[str]:
        return self.names()

    def hook(self, url: str, **more: Any) -> KeptHook:
        """A webhook that is kept, with one secret."""
        made = KeptHook("h", "default", "s", url, "", None, "every", None, "", (HookSecret(new_secret()),), self.now)
        made = made._replace(**more)
        self.desk.hooks.add(made)
        return made

    def queue(self, *ids: str) -> None:
        """Messages that are due at once."""
        messages = [NewMessage(id, "top.changes", f'{{"type":"top.changes","data":{{"n":"{id}"}}}}') for id in ids]
        self.desk.messages.take("h", messages, "e.1", None, self.now)

    def send(self) -> int | None:
        """Send what is due by now."""
        return asyncio.run(Courier(self.desk, "h").send_due())

    @property
    def kept(self) -> KeptHook:
        found = self.desk.hooks.get("h")
        assert found is not None
        return found

    def outcomes(self) -> list[tuple[int | None, str | None]]:
        """The attempts, the first one first."""
        return [(each.status, each.error) for each in reversed(self.desk.messages.attempts("h", None, 100))]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ManualWorld]:
    made = ManualWorld(tmp_path)
    yield made
    made.base.close()


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[ManualWorld]:
    made = ManualWorld(tmp_path, allow_private=False)
    yield made
    made.base.close()


def test_the_signature_is_that_of_the_specification() -> None:
    """The example of the libraries of Standard Webhooks."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    found = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_messages_arrive_in_order_and_signed(world: ManualWorld) -> None:
    with Receiver() as receiver:
        hook = world.hook(receiver.url)
        world.queue("m1", "m2", "m3")
        assert world.send() is None
    assert [got.headers["webhook-id"] for got in receiver.received] == ["m1", "m2", "m3"]
    first = receiver.received[0]
    assert (first.path, first.headers["host"]) == ("/hook?a=b", f"127.0.0.1:{receiver.port}")
    message = verify_webhook(hook.known[0].text, first.headers, first.body, BEGIN / SECOND)
    assert (message.id, message.type, message.data) == ("m1", "top.changes", {"n": "m1"})
    for secret, body, now in (
        (new_secret(), first.body, BEGIN / SECOND),
        (hook.known[0].text, first.body + b" ", BEGIN / SECOND),
        (hook.known[0].text, first.body, BEGIN / SECOND + 301),
    ):
        with pytest.raises(BadSignature):
            verify_webhook(secret, first.headers, body, now)
    with pytest.raises(BadSignature):
        verify_webhook(hook.known[0].text, {}, first.body)


def test_two_secrets_sign_while_one_is_replaced() -> None:
    old, new = new_secret(), new_secret()
    known = (HookSecret(new), HookSecret(old, BEGIN + HOUR))
    for now, both in ((BEGIN, True), (BEGIN + HOUR, False)):
        headers = signed_headers(known, "m", b'{"type":"t","data":{}}', now)
        assert len(headers["webhook-signature"].split(" ")) == (2 if both else 1)
        assert verify_webhook(new, headers, b'{"type":"t","data":{}}', now / SECOND).id == "m"
        if both:
            assert verify_webhook(old, headers, b'{"type":"t","data":{}}', now / SECOND).id == "m"
        else:
            with pytest.raises(BadSignature):
                verify_webhook(old, headers, b'{"type":"t","data":{}}', now / SECOND)


def test_ten_attempts_in_three_days_and_then_the_message_is_dead(world: ManualWorld) -> None:
    with Receiver(lambda n: 500) as receiver:
        world.hook(receiver.url)
        world.queue("m1")
        times = [world.now]
        while (due := world.send()) is not None:
            world.now = due - 1
            assert world.send() == due
            world.now = due
            times.append(due)
    assert len(times) == len(receiver.received) == ATTEMPTS == 10
    assert 72 * HOUR < times[-1] - times[0] < 80 * HOUR
    assert [b - a for a, b in pairwise(times)][:3] == [5 * SECOND, 5 * MINUTE, 30 * MINUTE]
    assert {got.headers["webhook-id"] for got in receiver.received} == {"m1"}
    assert len({got.headers["webhook-signature"] for got in receiver.received}) == 10
    assert [message.id for message in world.desk.messages.dead("h", None, 9)] == ["m1"]
    assert world.kept.state == "disabled"


def test_delays_are_never_the_same_for_all() -> None:
    early, late = next_attempt(3, 0, draw=lambda: 0.999), next_attempt(3, 0, draw=lambda: 0.0)
    assert early is not None
    assert late is not None
    assert 27 * MINUTE < early < late == 30 * MINUTE
    assert next_attempt(1, 0, 60.0, lambda: 0.0) == MINUTE
    assert next_attempt(1, 0, 1e9, lambda: 0.0) == 24 * HOUR


def test_one_that_fails_does_not_hold_others_back_and_arrives_later(world: ManualWorld) -> None:
    with Receiver(lambda n: (503, {"retry-after": "77"}) if n == 1 else 204) as receiver:
        world.hook(receiver.url)
        world.queue("m1", "m2")
        due = world.send()
        assert due == world.now + 77 * SECOND
        world.now = due
        assert world.send() is None
    assert [got.headers["webhook-id"] for got in receiver.received] == ["m1", "m2", "m1"]
    assert world.outcomes() == [(503, None), (204, None), (204, None)]
    assert world.kept.state == "enabled"


def test_gone_disables_and_keeps_what_waits(world: ManualWorld) -> None:
    with Receiver(lambda n: 410) as receiver:
        world.hook(receiver.url)
        world.queue("m1", "m2")
        assert world.send() is None
        assert len(receiver.received) == 1
    assert (world.kept.state, world.kept.reason) == ("disabled", "The receiver has answered 410 Gone.")
    assert [message.id for message in world.desk.messages.dead("h", None, 9)] == ["m1", "m2"]


def test_what_is_dead_is_sent_again_when_asked_for_or_dropped(world: ManualWorld) -> None:
    with Receiver(lambda n: 410 if n == 1 else 200) as receiver:
        world.hook(receiver.url)
        world.queue("m1", "m2", "m3")
        world.send()
        messages = world.desk.messages
        assert messages.replay("h", ["m3", "none"], world.now) == 1
        world.desk.hooks.change("h", state="enabled", reason=None)
        assert world.send() is None
        assert messages.drop("h", ["m1"]) == 1
        assert messages.replay("h", None, world.now) == 1
        assert world.send() is None
    assert [got.headers["webhook-id"] for got in receiver.received] == ["m1", "m3", "m2"]
    assert messages.dead("h", None, 9) == []


def test_redirects_are_not_followed(world: ManualWorld) -> None:
    with Receiver() as elsewhere, Receiver(lambda n: (302, {"location": elsewhere.url})) as receiver:
        world.hook(receiver.url)
        world.queue("m1")
        assert world.send() == world.now + 5 * SECOND
    assert (len(receiver.received), elsewhere.received) == (1, [])
    assert world.outcomes() == [(302, "Redirects are not followed.")]


def test_a_name_that_leads_inside_is_sent_nothing(strict: ManualWorld) -> None:
    answers = iter([["93.184.216.34", "127.0.0.1"], ["10.1.2.3"], ["::ffff:169.254.169.254"], []])
    strict.names = lambda: next(answers)
    strict.hook("https://example.test/hook")
    strict.queue("m1")
    for _ in range(4):
        due = strict.send()
        assert due is not None
        strict.now = due
    errors = [error for _, error in strict.outcomes()]
    assert ["not public" in str(error) for error in errors] == [True, True, True, False]
    assert errors[3] == "The host example.test is not known."


def test_the_address_that_was_checked_is_the_one_connected_to(strict: ManualWorld) -> None:
    """A name whose answer changes is looked up once per attempt."""
    asked, sent = [], []

    def changing() -> list[str]:
        asked.append(1)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    async def send(target: HookTarget, address: str, *_: Any) -> Any:
        sent.append((target.host, address))
        raise PostFailed("Nothing is there.")

    strict.names, strict.desk.send = changing, send
    strict.hook("https://example.test/hook")
    strict.queue("m1")
    strict.now = strict.send() or 0
    strict.send()
    assert (len(asked), sent) == (2, [("example.test", "93.184.216.34")])


def test_a_request_is_made_under_the_name_to_the_address() -> None:
    with Receiver() as receiver:
        target = HookTarget(False, "no-such-host.invalid", receiver.port, "/x")
        answer = asyncio.run(post(target, "127.0.0.1", {"webhook-id": "m"}, b"{}"))
        assert answer.status == 200
        assert receiver.received[0].headers["host"] == f"no-such-host.invalid:{receiver.port}"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_has_to_be_for_the_name_and_not_for_the_address(tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=hook.test -addext subjectAltName=DNS:hook.test"
    made = ["openssl", *words.split(), "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    trust = ssl.create_default_context(cafile=certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with Receiver(tls=context) as receiver:
        right, wrong = (HookTarget(True, host, receiver.port, "/") for host in ("hook.test", "other.test"))
        assert asyncio.run(post(right, "127.0.0.1", {}, b"{}", trust=trust)).status == 200
        assert receiver.received[0].headers["host"] == f"hook.test:{receiver.port}"
        for target, known in ((wrong, trust), (right, None)):
            with pytest.raises(PostFailed, match="TLS has failed"):
                asyncio.run(post(target, "127.0.0.1", {}, b"{}", trust=known))
        assert len(receiver.received) == 1


def test_a_slow_receiver_is_given_up(world: ManualWorld) -> None:
    with Receiver() as receiver:
        receiver.gate.clear()
        target = read_target(receiver.url, True)
        with pytest.raises(PostFailed, match=r"no answer within 0\.2 seconds"):
            asyncio.run(post(target, "127.0.0.1", {}, b"{}", 0.2))
        receiver.gate.set()


def test_a_receiver_that_answers_a_letter_at_a_time_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        target = read_target(f"http://127.0.0.1:{place.getsockname()[1]}/", True)

        def drip() -> None:
            peer, _ = place.accept()
            with peer, contextlib.suppress(OSError):
                for letter in itertools.cycle(b"HTTP/1.1 200 OK\r\nx-more: ".ljust(10_000, b"y")):
                    peer.sendall(bytes([letter]))
                    time.sleep(0.01)

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        with pytest.raises(PostFailed, match=r"no answer within 0\.5 seconds"):
            asyncio.run(post(target, "127.0.0.1", {}, b"{}", 0.5))
        dripping.join()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"nonsense\r\n\r\n", "not HTTP"),
        (b"", "without an answer"),
        (b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 70_000, "too long"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", ""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n", ""),
    ],
    ids=["nonsense", "nothing", "endless", "continue", "body"],
)
def test_answers_that_are_none(said: bytes, why: str) -> None:
    place = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        here, _ = place.accept()
        with here:
            here.recv(65536)
            here.sendall(said)

    thread = threading.Thread(target=answer)
    thread.start()
    target = HookTarget(False, "127.0.0.1", place.getsockname()[1], "/")
    try:
        if why:
            with pytest.raises(PostFailed, match=why):
                asyncio.run(post(target, "127.0.0.1", {}, b"{}", 10))
        else:
            assert asyncio.run(post(target, "127.0.0.1", {}, b"{}", 10)).status in (200, 204)
    finally:
        thread.join()
        place.close()


def test_nobody_there_is_a_failure() -> None:
    with pytest.raises(PostFailed, match="connection has failed"):
        asyncio.run(post(HookTarget(False, "127.0.0.1", 9, "/"), "127.0.0.1", {}, b"{}"))


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "https://user:secret@example.org/",
        "https://example.org/#part",
        "https://exa mple.org/",
        "https://example.org/\r\nx: y",
        "https://",
        "nothing",
        "https://example.org:99999/",
        "https://[::1",
        "https://example.org/ü",
        "https://example.org/" + "x" * 2000,
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::]/",
        "https://[fe80::1]/",
        "https://[fec0::1]/",
        "https://224.0.0.1/",
        "https://0.0.0.0/",
        "https://100.64.0.1/",
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    with pytest.raises(BadTarget):
        read_target(url, False)


def test_urls_that_are_taken() -> None:
    assert read_target("https://example.org", False) == HookTarget(True, "example.org", 443, "/")
    target = read_target("https://[2606:2800:220:1::1]:8443/a?b=c", False)
    assert (target.host_header, target.path) == ("[2606:2800:220:1::1]:8443", "/a?b=c")
    assert read_target("http://127.0.0.1/x", True).port == 80

    async def numbers(host: str, port: int) -> list[str]:
        return ["2130706433.1"] if host != "127.1" else ["127.0.0.1"]

    with pytest.raises(BadTarget, match="not public"):
        asyncio.run(checked_address(read_target("https://127.1/", False), False, numbers))

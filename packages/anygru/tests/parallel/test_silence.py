"""A launcher ends when the machine where its job meets stops answering."""

import argparse
import importlib
import threading

import pytest

from anygru.parallel import addresses

launch = importlib.import_module("anygru.parallel.launch")  # the package has a function of that name


class Ended(threading.Event):
    """In the place of `os._exit`, which never returns: its thread waits until nobody watches any more."""

    status = 0

    def __init__(self):
        super().__init__()
        self.unwatched = threading.Event()

    def __call__(self, status):
        self.status = status
        self.set()
        self.unwatched.wait()


@pytest.fixture
def watched(monkeypatch):
    """Run `_ended_by_silence` while the other machine gives these answers, the last one for ever; return what happened."""

    def run(answers, wait):
        left, ended = list(answers), Ended()
        monkeypatch.setattr(launch, "answers", lambda host, port: left.pop(0) if len(left) > 1 else left[0])
        monkeypatch.setattr(launch, "GRACE", 0.1)
        monkeypatch.setattr(launch.os, "_exit", ended)
        options = argparse.Namespace(rdzv_endpoint="192.0.2.1:29400", rdzv_backend="c10d", timeout=0.1)
        with launch._ended_by_silence(options):
            ended.wait(wait)
        ended.unwatched.set()
        return ended

    return run


def test_silence_after_an_answer_ends_the_launcher(watched, capfd):
    assert watched([True, True, False], 300).status == 1
    assert capfd.readouterr().err.startswith(
        "anygru launch: ended, since 192.0.2.1, where the job meets, does not answer\n"
    )


def test_a_machine_that_has_not_come_up_yet_is_waited_for(watched):
    assert not watched([False], 0.8).is_set()


def test_a_closed_port_is_an_answer():
    assert addresses.answers("127.0.0.1", 9)

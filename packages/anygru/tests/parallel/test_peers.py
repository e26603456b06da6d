"""Which process is silent, in words, and what a worker keeps of its error."""

import resource

import pytest

from anygru.parallel import _worker, peers


@pytest.fixture
def answering(monkeypatch):
    """A peer that gives these faults, one after the other."""

    def make(*faults):
        left = list(faults)
        monkeypatch.setattr(peers, "MOMENT", 0)
        monkeypatch.setattr(peers, "_peers", [peers._Peer(1, "host", "192.0.2.1", 1, 0)])
        monkeypatch.setattr(peers._Peer, "fault", lambda peer: left.pop(0))
        return left

    return make


def test_a_process_that_is_just_ending_is_asked_again(answering):
    answering(None, "rank 1 has ended")
    assert peers.explain(RuntimeError("Connection closed by peer")) == "rank 1 has ended"


def test_processes_that_answer_are_named_in_no_error(answering):
    assert peers.explain(RuntimeError("recv failed")) == ""
    left = answering(None, None)
    assert peers.explain(RuntimeError("recv failed")) == ""
    assert left == []


def test_other_errors_ask_nobody(answering):
    left = answering("not asked")
    assert peers.explain(ValueError("bad data")) == ""
    assert left == ["not asked"]


def test_an_error_is_kept_whole_or_not_at_all(tmp_path, capsys):
    """The launcher ended with a traceback of its own where a full disk took a part of the file."""
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    _worker._keep("{}", str(whole))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        _worker._keep("x" * 100, str(part))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert whole.read_text() == "{}"
    assert not part.exists()
    assert capsys.readouterr().err.startswith("anygru: the launcher will not show this error: ")

"""The supervisor where a job meets, asked by a launcher that is slow."""

import json
import socket
import threading
import time

import pytest
from torch.distributed import TCPStore

from anygru.parallel.supervision import Cause, Place, Supervisor


@pytest.fixture
def meeting(tmp_path):
    """A supervisor that serves, and what asks it as another launcher does."""
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    supervisor = Supervisor(tmp_path, 60.0, Place("127.0.0.1", store.port, "job", True, (2, 2), False))
    supervisor.start()
    host, _, port = store.get("anygru/job/supervisor").decode().rpartition(":")
    with socket.create_connection((host, int(port)), timeout=30) as link, link.makefile("rwb") as lines:

        def ask():
            message = {"name": "another", "cause": None, "left": False, "machines": (2, 2)}
            lines.write(json.dumps(message).encode() + b"\n")
            lines.flush()
            return json.loads(lines.readline())

        yield supervisor, ask
    supervisor.stop()


def test_the_place_where_a_job_meets_stays_until_all_have_heard_the_verdict(meeting):
    supervisor, ask = meeting
    assert ask() == {"failing": False, "verdict": None}
    while not supervisor._linked:
        time.sleep(0.01)
    cause = Cause(0, 0.0, "rank 0 was killed", 137)
    assert supervisor.agree(cause) == cause
    leaving = threading.Thread(target=supervisor.stop)
    leaving.start()
    leaving.join(1.5)  # a launcher asks every second, and may be late on a machine at work
    assert leaving.is_alive()
    assert Cause(*ask()["verdict"]) == cause
    leaving.join(1)
    assert not leaving.is_alive()

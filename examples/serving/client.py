"""A client of serve.py: python client.py ws://127.0.0.1:8000/session --steps 100

It sends random steps and goes on when its connection breaks or the service starts again: the greeting says how many steps the
service has of this session, and the client sends what comes after them.
"""

import argparse
import asyncio
import json
import struct
import time
from collections.abc import Sequence

import numpy as np
import websockets

PERMANENT = 1002, 1003, 1007, 1009, 1010
"""Codes of connections that end for what the client sent: to connect again would not help."""


async def answers(url: str, steps: Sequence[np.ndarray], patience: float = 30.0) -> list[np.ndarray]:
    """The model's output for each step of one session, in order.

    Args:
        url: of the service.
        steps: float32, as wide as the model's input.
        patience: seconds to try for without an answer.

    Raises:
        ConnectionError: the service did not answer for so long.
        websockets.ConnectionClosed: the service refuses the steps; its reason says why.
    """
    token, done, heard = "", 0, time.monotonic()
    found: list[np.ndarray] = [np.empty(0, np.float32)] * len(steps)
    while True:
        try:
            async with websockets.connect(f"{url}?token={token}") as connection:
                greeting = json.loads(await connection.recv())
                token, done = greeting["session"], greeting["steps"]
                while done < len(steps):
                    await connection.send(steps[done].astype("<f4").tobytes())
                    answer = await connection.recv()
                    (done,), heard = struct.unpack_from("<Q", answer), time.monotonic()
                    found[done - 1] = np.frombuffer(answer, "<f4", offset=8)
                return found
        except (OSError, websockets.WebSocketException) as error:
            if isinstance(error, websockets.ConnectionClosed) and error.rcvd and error.rcvd.code in PERMANENT:
                raise
            if time.monotonic() - heard > patience:
                raise ConnectionError(f"{url} has not answered for {patience:g} s: {error}") from error
            await asyncio.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default="ws://127.0.0.1:8000/session")
    parser.add_argument("--width", type=int, default=64, help="numbers of a step")
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    steps = np.random.default_rng(0).standard_normal((options.steps, options.width)).astype(np.float32)
    begin = time.monotonic()
    found = asyncio.run(answers(options.url, list(steps)))
    print(f"{len(found)} steps in {time.monotonic() - begin:.2f} s; the last output begins {found[-1][:3]}")


if __name__ == "__main__":
    main()

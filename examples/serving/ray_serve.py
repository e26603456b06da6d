"""The websocket service of serve.py on many machines, with Ray Serve: python ray_serve.py model.safetensors --replicas 4

Each replica has a pool of its own, and a connection stays on its replica. States are saved in an actor that all replicas know,
so a client that comes back with its token goes on wherever it lands. A replica that is drained closes each connection after
--max-age seconds at most, with the state saved, and code 1012: the client connects again and loses nothing. After `kill -9` of a
replica the steps since its last save are lost, which the counter tells, as in serve.py.
"""

import argparse
import gc
from pathlib import Path
from typing import Any

import ray
import torch
from ray import serve
from serve import Service, States, arguments
from starlette.types import ASGIApp


class Saved(States):
    """The states of all replicas. A replica that no longer has a session cannot overwrite what the next one saved."""

    def __init__(self, most: int, keep: float) -> None:
        super().__init__(None, most, keep)
        self.owners: dict[str, str] = {}

    async def take(self, token: str, owner: str) -> bytes | None:
        """The state, which from now on only `owner` may save."""
        self.owners[token] = owner
        return await self.get(token)

    async def put_by(self, owner: str, states: dict[str, bytes]) -> None:
        await self.put({token: state for token, state in states.items() if self.owners.get(token, owner) == owner})
        with self.connected() as connection:
            kept = {token for (token,) in connection.execute("SELECT token FROM states")}
        self.owners = {token: each for token, each in self.owners.items() if token in kept}


class Shared:
    """`Saved` as a replica sees it."""

    def __init__(self, actor: Any, replica: str) -> None:
        self.actor, self.replica = actor, replica

    async def get(self, token: str) -> bytes | None:
        return await self.actor.take.remote(token, self.replica)

    async def put(self, states: dict[str, bytes]) -> None:
        await self.actor.put_by.remote(self.replica, states)


def application(options: argparse.Namespace) -> serve.Application:
    """The service as Ray Serve runs it, and the actor that outlives its replicas."""
    saved = ray.remote(Saved).options(name="anygru-states", lifetime="detached", get_if_exists=True, num_cpus=0)
    actor = saved.remote(options.keep_most, options.keep)

    def build() -> ASGIApp:
        torch.set_num_threads(1)
        gc.freeze()  # as in serve.py
        return Service(options, Shared(actor, serve.get_replica_context().replica_id.unique_id)).app

    @serve.deployment(
        num_replicas=options.replicas,
        graceful_shutdown_timeout_s=options.max_age + 10,
        max_ongoing_requests=options.sessions,
    )
    @serve.ingress(build)
    class Sessions:
        """A replica."""

    return Sessions.bind()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--replicas", type=int, default=2)
    parser.set_defaults(max_age=60.0)
    options = parser.parse_args()
    options.model = str(Path(options.model).absolute())
    ray.init(runtime_env={"working_dir": str(Path(__file__).parent)})  # where workers of all machines find serve.py
    serve.start(http_options={"host": options.host, "port": options.port})
    serve.run(application(options), blocking=True)


if __name__ == "__main__":
    main()

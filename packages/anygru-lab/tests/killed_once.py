"""`anygru ...` as a worker of a launched job; in the job's first attempt the last rank is killed in its step 30."""

import os
import signal
import sys

from anygru.cli import main
from anygru_lab.language_model.trainer import Trainer

DEADLY = 30


def die_in_a_step():
    original, begun = Trainer.step, 0

    def step(self, *args, **kwargs):
        nonlocal begun
        begun += 1
        if begun == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, *args, **kwargs)

    Trainer.step = step


if __name__ == "__main__":
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and os.environ["RANK"] == "1":
        die_in_a_step()
    sys.exit(main())

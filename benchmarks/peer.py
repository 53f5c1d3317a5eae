"""The released fairret 0.1.3: installed into a folder, driven in its own process."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from measure import Block

from fairret.errors import MissingExtraError
from fairret.lab.baseline import released

HERE = Path(__file__).parent
os.environ.setdefault(released.HOME, str(HERE / ".peers"))
FOLDER = released.folder()
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


class PeerError(RuntimeError):
    """The released package cannot be installed or does not answer."""


def install() -> None:
    """Install the released package, unless it is there."""
    try:
        released.install()
    except MissingExtraError as error:
        raise PeerError(str(error)) from error


class Peer:
    """A process that runs the released package on the batches in a file."""

    def __init__(self, data: Path) -> None:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ONE_THREAD
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "peer_worker.py"), str(FOLDER), str(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.failures = 0  # how often it went on without a solution

    def __enter__(self) -> "Peer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(BrokenPipeError):
            self._process.communicate()  # closes its input, which ends it

    def _ask(self, **request: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError("The process of fairret 0.1.3 ended; it says why above.")
        answer = json.loads(line)
        self.failures += answer["failures"]
        return answer

    def block(self, loss: str, statistic: str, *, qdldl: bool = False) -> Block:
        """Give the block that times one of its losses.

        SCS factorises with QDLDL if asked, which was its default before version 3.3.
        """
        case = {"loss": loss, "statistic": statistic, "qdldl": qdldl}

        def block(repeats: int) -> list[float]:
            answer = self._ask(**case, repeats=repeats)
            seconds: list[float] = answer["seconds"]
            return seconds

        return block

    def residuals(self, loss: str, statistic: str) -> dict[str, list[float]]:
        """Residuals of its projections: the solver's answer, and what the loss uses."""
        answer = self._ask(loss=loss, statistic=statistic, qdldl=False)
        found: dict[str, list[float]] = answer["residuals"]
        return found

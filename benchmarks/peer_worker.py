"""Runs the released package in a process of its own: lines of JSON in and out.

Called as `peer_worker.py FOLDER DATA`, where FOLDER holds the released package.
"""

import io
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib import import_module, metadata, util
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from measure import time_calls, without_collection
from residual import residual
from samples import Batches, load

VERSION = "0.1.3"
FAILED = "did not converge"  # what it prints when it goes on without a projection


def import_released(folder: Path) -> tuple[Any, Any]:
    """Import the released package, and make sure that it is that one."""
    sys.path.insert(0, str(folder))
    package = import_module("fairret")
    [found] = metadata.distributions(name="fairret", path=[str(folder)])
    assert found.version == VERSION, found.version
    assert Path(str(package.__file__)).is_relative_to(folder), package.__file__
    assert util.find_spec("fairret.projection") is None, "this is not the released one"
    return import_module("fairret.loss"), import_module("fairret.statistic")


class Case:
    """One loss with one statistic, with the batches in turn."""

    def __init__(self, loss: Any, statistic: str, data: Batches) -> None:
        self.loss, self.statistic, self.data = loss, statistic, data
        self.calls = [self._call(index) for index in range(len(data.logit))]
        self.in_turn: Iterator[Callable[[], object]] = cycle(self.calls)

    def _call(self, index: int) -> Callable[[], object]:
        logit, sens, label = map(torch.from_numpy, self.data.seen(index))
        logit.requires_grad_()
        inputs = () if self.statistic == "PositiveRate" else (label,)

        def forward_and_backward() -> None:
            logit.grad = None
            self.loss(logit, sens, *inputs).backward()

        return forward_and_backward

    def time(self, repeats: int) -> list[float]:
        """Time so many calls."""
        with without_collection():
            return time_calls(lambda: next(self.in_turn)(), repeats)

    def residuals(self) -> dict[str, list[float]]:
        """Measure the solver's answer, and what the loss makes of it."""
        found: dict[str, list[float]] = {"solver": [], "loss": []}
        fit, distance = self.loss._fit_cvxpy, self.loss.torch_distance_with_logits
        kept: dict[str, Any] = {}

        def keep_fit(*args: Any, **kwargs: Any) -> Any:
            answer = fit(*args, **kwargs)
            kept["solver"] = answer[:, 1].detach().numpy().copy()
            return answer

        def keep_used(pred: Any, proj: Any) -> Any:
            kept["loss"] = proj[:, 1].detach().numpy().copy()
            return distance(pred, proj)

        self.loss._fit_cvxpy = keep_fit
        self.loss.torch_distance_with_logits = keep_used
        for index, call in enumerate(self.calls):
            call()
            seen = self.data.seen(index)
            for which, values in found.items():
                values.append(residual(self.statistic, *seen, kept[which]))
        del self.loss._fit_cvxpy, self.loss.torch_distance_with_logits
        return found


def main() -> None:
    """Answer one request a line until the input ends."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # ten steps of SCS: "solution may be inaccurate"
    folder, data = Path(sys.argv[1]).resolve(), load(Path(sys.argv[2]))
    losses, statistics = import_released(folder)
    cases: dict[tuple[str, str, bool], Case] = {}
    for line in sys.stdin:
        request = json.loads(line)
        key = request["loss"], request["statistic"], request["qdldl"]
        printed = io.StringIO()
        with redirect_stdout(printed):  # stdout itself carries the answers
            if key not in cases:
                solver = {"use_indirect": False} if key[2] else {}
                loss = getattr(losses, key[0])(getattr(statistics, key[1])(), **solver)
                cases[key] = Case(loss, key[1], data)
            case = cases[key]
            answer: dict[str, object] = (
                {"seconds": case.time(request["repeats"])}
                if "repeats" in request
                else {"residuals": case.residuals()}
            )
        answer["failures"] = printed.getvalue().count(FAILED)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

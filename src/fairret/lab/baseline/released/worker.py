"""Trains with the released package; it must not import ours.

Called as `worker.py FOLDER JOB ANSWER` with the settings as JSON on standard input. The
network, its start and the order of the batches are those of `fairret.training`. With a
`recipe` among the settings, it runs the functions `fit`, `predict` and `score` of that
file instead.
"""

import io
import json
import math
import sys
import time
import warnings
from contextlib import redirect_stdout
from importlib import import_module, util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

STATISTICS = {
    "pr": "PositiveRate",
    "tpr": "TruePositiveRate",
    "ppv": "PositivePredictiveValue",
    "fn_fp": "FalseNegativeFalsePositiveFraction",
}


def build(d_x: int, hidden: list[int]) -> tuple[nn.Sequential, nn.Linear]:
    """Build the network in the order of `fairret.training.Network`."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(d_x, width), nn.ReLU()]
        d_x = width
    return nn.Sequential(*layers), nn.Linear(d_x, 1)


def import_released(folder: Path) -> None:
    """Import the released package, and make sure that it is that one."""
    sys.path.insert(0, str(folder))
    package = import_module("fairret")
    assert Path(str(package.__file__)).is_relative_to(folder), package.__file__
    assert util.find_spec("fairret.projection") is None, "this is not the released one"


def make_loss(order: dict[str, Any]) -> Any:
    """Make a loss of the released package."""
    statistic = getattr(
        import_module("fairret.statistic"), STATISTICS[order["statistic"]]
    )
    loss = getattr(import_module("fairret.loss"), order["loss"])
    return loss(statistic(), **order["loss_options"])


def main() -> None:
    """Train or run a recipe, and write the answer."""
    folder, job, answer = (Path(path).resolve() for path in sys.argv[1:])
    order = json.load(sys.stdin)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # ten steps of its solver: "may be inaccurate"
    import_released(folder)
    with np.load(job) as file:
        arrays = dict(file)
    found = (run_recipe if "recipe" in order else train)(order, arrays)
    np.savez(answer, **found)


def run_recipe(order: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Fit and decide by the functions of a file, and take the time."""
    import pandas as pd

    spec = util.spec_from_file_location("recipe", order["recipe"])
    assert spec is not None
    assert spec.loader is not None
    recipe = util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    goal = SimpleNamespace(**order["goal"])

    def read(part: str) -> tuple[Any, Any]:
        traits = pd.DataFrame(
            {
                name.split("/", 2)[2]: x.astype(object) if x.dtype.kind == "U" else x
                for name, x in arrays.items()
                if name.startswith(f"{part}/traits/")
            }
        )
        return pd.DataFrame(arrays[f"{part}/feat"]), traits.replace("", None)

    (X, traits), people = read("fit"), read("test")
    start = time.process_time()
    with redirect_stdout(io.StringIO()):
        model = recipe.fit(X, arrays["fit/label"], traits, goal)
    fitted = time.process_time()
    decided = recipe.predict(model, *people, goal)
    done = time.process_time()
    return {
        "decided": decided,
        "score": recipe.score(model, *people, goal),
        "seconds": fitted - start,
        "predict_seconds": done - fitted,
    }


def train(order: dict[str, Any], arrays: dict[str, Any]) -> dict[str, Any]:
    """Train a network, and score people with it."""
    fairret = make_loss(order)
    feat, sens, label, test = (
        torch.from_numpy(arrays[name]) for name in ("feat", "sens", "label", "test")
    )
    torch.manual_seed(order["seed"])
    body, head = build(feat.shape[1], order["hidden"])
    parameters = [*body.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, order["learning_rate"], fused=True)
    deal = torch.Generator().manual_seed(order["seed"])
    size = order["batch"]
    start = time.perf_counter()
    mean = 0.0
    for epoch in range(order["epochs"]):
        losses = []
        rows = torch.randperm(len(label), generator=deal)
        count = max(1, round(len(label) / size))
        for own in rows.tensor_split([size * k for k in range(1, count)]):
            logit = head(body(feat[own]))
            loss = F.binary_cross_entropy_with_logits(logit[:, 0], label[own])
            if epoch >= order["warm_up"]:
                few = own[:size]  # it cannot take a batch larger than the first
                inputs = () if order["statistic"] == "pr" else (label[few, None],)
                with redirect_stdout(io.StringIO()):  # it prints what it cannot solve
                    term = fairret(logit[: len(few)], sens[few], *inputs)
                loss = loss + order["strength"] * term
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            losses.append(loss.item())
        mean = sum(losses) / len(losses)
        if not math.isfinite(mean):
            sys.exit(f"the loss is {mean} in epoch {epoch}")
    seconds = time.perf_counter() - start

    @torch.no_grad()
    def score(people: Tensor) -> Any:
        return torch.sigmoid(head(body(people))[:, 0].double()).numpy()

    return {
        "train": score(feat),
        "test": score(test),
        "seconds": seconds,
        "loss": mean,
    }


if __name__ == "__main__":
    main()

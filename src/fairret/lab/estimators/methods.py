"""Estimators with default settings: what they reach, and what they cost."""

from __future__ import annotations

import math
import time
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from fairret.errors import missing_extra
from fairret.lab.baseline.released import run_recipe
from fairret.lab.estimators import released_recipe
from fairret.lab.estimators.frames import Frames, make_frames
from fairret.lab.estimators.recipes import RECIPES, Goal, Recipe
from fairret.lab.tolerance.cases import SINGLE, Comparison, Method, Try
from fairret.lab.tolerance.ours import quietly
from fairret.lab.tolerance.peers import as_difference
from fairret.lab.tolerance.people import (
    ALL,
    COMPARED,
    Case,
    People,
    load_people,
    load_some,
    load_split,
)
from fairret.lab.tolerance.results import Result, measure_part

NOTIONS = ("pr", "tpr")
TOLERANCE = 0.1
PLAIN = "boosting"
RELEASED = "fairret 0.1.3"
SLOW = ("ExponentiatedGradient", RELEASED)  # dozens of fits; another process


class Outcome(NamedTuple):
    """Decisions and scores of the test people, and what they cost."""

    decided: Any
    score: Any
    status: str
    seconds: float  # of the processor, to fit
    predict_seconds: float


def load_frames(case: Case) -> tuple[People, Frames, Frames]:
    """Load all rows of a dataset, to fit and to test."""
    split = load_split(case.dataset, case.seed, None)
    people = load_people(case, split)
    names = load_some(case.dataset).feat_names
    fit, test = (make_frames(people, rows, names) for rows in (people.fit, people.test))
    return people, fit, test


def attempt(recipe: Recipe, fit: Frames, test: Frames, goal: Goal, one: str) -> Outcome:
    """Run the code of a user.

    Args:
        recipe: The code.
        fit: Whom to fit.
        test: Whom to decide on.
        goal: What is asked for.
        one: The trait of packages that take one.
    """
    for name in recipe.modules:
        _import(name)

    def known(frames: Frames) -> Any:
        if recipe.traits == "all":
            return frames.traits
        return frames.categories() if recipe.traits == "categories" else frames.one(one)

    s_fit, s_test = known(fit), known(test)
    with quietly():
        start = time.process_time()
        model = recipe.fit(fit.X, fit.y, s_fit, goal)
        fitted = time.process_time()
        decided = recipe.predict(model, test.X, s_test, goal)
        done = time.process_time()
        score = recipe.score(model, test.X, s_test, goal)
    status = recipe.status(model)
    return Outcome(decided, score, status, fitted - start, done - fitted)


def _import(name: str) -> None:
    try:
        import_module(name)
    except ImportError as error:
        raise missing_extra("This comparison needs", str(error.name), "peers") from None


def attempt_released(fit: Frames, test: Frames, goal: Goal) -> Outcome:
    """Run the loop over strengths with fairret 0.1.3, in its own process."""
    people = {
        "fit": (fit.X.to_numpy(), fit.y, fit.arrays()),
        "test": (test.X.to_numpy(), test.y, test.arrays()),
    }
    path = Path(str(released_recipe.__file__))
    answer = run_recipe(path, people, goal._asdict())
    seconds = (float(answer[name]) for name in ("seconds", "predict_seconds"))
    return Outcome(answer["decided"], answer["score"], "done", *seconds)


def run(case: Case) -> Result:
    """Fit with default settings, and measure decisions on the test rows."""
    people, fit, test = load_frames(case)
    plain = _decide_alone(case.dataset, case.seed)
    bound = as_difference(case, plain, people.fit.label)
    goal = Goal(case.notion, case.tolerance, bound, case.seed)
    if case.method == RELEASED:
        done = attempt_released(fit, test, goal)
    else:
        one = COMPARED[case.dataset][1]
        done = attempt(RECIPES[case.method], fit, test, goal, one)
    decided = torch.as_tensor(np.asarray(done.decided)).flatten().double()
    own = measure_part(people, people.test, decided, case.notion, fitted=False)
    values: dict[str, float | str] = {f"test/{name}": x for name, x in own.items()}
    values |= {
        "test/auroc": _auroc(test.y, done.score),
        "fit/rows": float(len(fit.y)),
        "bound": bound,
        "status": done.status,
        "predict_seconds": done.predict_seconds,
    }
    return Result(values, done.seconds)


@lru_cache(maxsize=2)
def _decide_alone(dataset: str, seed: int) -> Tensor:
    """Decide on the fit rows by boosting without a tolerance, for the bound."""
    case = Case(dataset, seed, ALL, PLAIN, "", math.inf)
    _, fit, _ = load_frames(case)
    goal = Goal("", math.inf, math.inf, seed)
    done = attempt(RECIPES[PLAIN], fit, fit, goal, COMPARED[dataset][1])
    return torch.as_tensor(np.asarray(done.decided)).double()


def _auroc(y: Any, score: Any) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(y, score))


def _method(name: str) -> Method:
    limits = (math.inf if name == PLAIN else TOLERANCE,)
    tries = Try(ALL, NOTIONS, limits), Try(SINGLE, NOTIONS, limits)
    return Method(run, tries, late=name in SLOW)


METHODS = {name: _method(name) for name in RECIPES}
ESTIMATORS = Comparison(METHODS, NOTIONS)

"""A small store of made-up results, for figures and tables."""

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict

import numpy as np

from fairret.lab.experiment import Store, list_runs, read_experiment

FILE = """
name = "made up"
datasets = {datasets}
statistics = {statistics}
seeds = {seeds}
traits = {traits}

[training]
batch = {batches}

[[method]]
name = "Unfair"

[[method]]
name = "SmoothMax"
strengths = [0.1, 1, 10]

[[method]]
name = "KL"
strengths = [1, 10]
max_iter = {limits}

[[method]]
name = "HSIC"
strengths = [30, 300]

[[method]]
name = "Norm"
strengths = [0.3, 3]
"""
ROWS = {"bank": 1234.0, "lawschool": 5678.0, "acsincome": 17992.0}
NOTIONS = ("pr", "tpr", "ppv", "fn_fp")
CHANNELS = ("scores", "decisions", "decisions at the base rate")


def write_file(folder, name="made_up", **of):
    """Write an experiment; what is not given is as usual."""
    path = folder / f"{name}.toml"
    usual = {
        "datasets": ("bank", "lawschool"),
        "statistics": NOTIONS,
        "seeds": (0, 1, 2),
        "traits": ("all",),
        "batches": (4096,),
        "limits": (0,),
    }
    lists = {key: json.dumps(list(value)) for key, value in (usual | of).items()}
    path.write_text(FILE.format(**lists))
    return path


def numbers(run):
    """Results that fall along the strengths; a number of its own in each column."""
    rng = np.random.default_rng(int(run.key[:8], 16))
    place = 1 + run.strength
    found = {}
    for part in ("train", "validation", "test"):
        found |= {
            f"{part}/auroc": 0.9 - 0.02 * np.log10(place) + 0.004 * rng.normal(),
            f"{part}/accuracy": 0.85 + 0.003 * rng.normal(),
            f"{part}/accuracy_at_base_rate": 0.84 + 0.003 * rng.normal(),
            f"{part}/log_loss": 0.3 + 0.02 * rng.random(),
            f"{part}/base_rate": 0.25,
            f"{part}/positive_rate": 0.2,
            f"{part}/rows": ROWS[run.dataset] * (4 if part == "train" else 1),
        }
        for k, name in enumerate(NOTIONS):
            for channel in CHANNELS:
                for traits in ("all", "single"):
                    path = f"{name}/{channel}/{traits}"
                    level = (0.4 + 0.3 * k) / place * np.exp(0.1 * rng.normal())
                    found[f"{part}/violation/{path}"] = level
                    found[f"{part}/floor/{path}"] = 0.05 + 0.01 * k
                    found[f"{part}/beyond_chance/{path}"] = float(level > 0.1)
                    found[f"{part}/p_value/{path}"] = 0.001 if level > 0.1 else 0.4
                    found[f"{part}/violation_beyond_chance/{path}"] = level / 2
    return found


def fill(path, file, change=lambda run, result: result, wanted=lambda run: True):
    """Store the runs of a file; `change` gives other numbers, or None for a failure."""
    store = Store(path)
    rows = []
    for run in filter(wanted, list_runs(read_experiment(file))):
        result = change(run, numbers(run))
        settings = (run.key, json.dumps(asdict(run)))
        if result is None:
            rows.append((*settings, "failed", None, None, "it was meant to"))
        else:
            plain = {k: None if np.isnan(v) else float(v) for k, v in result.items()}
            seconds = 3.0 + len(run.method) + run.seed
            rows.append((*settings, "done", seconds, json.dumps(plain), None))
    with closing(sqlite3.connect(path)) as db:  # at once: the store syncs every run
        db.executemany(
            "INSERT INTO runs (key, run, status, seconds, result, reason) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            rows,
        )
        db.commit()
    return store

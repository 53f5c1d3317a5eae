"""Row 4: metrics in a stream and the audit of a file, against the peers."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from fairlearn.metrics import (
    MetricFrame,
    false_negative_rate,
    false_positive_rate,
    selection_rate,
    true_negative_rate,
    true_positive_rate,
)
from measure import block_of, interleave, median, ratio
from report import Row, duration, verdict
from samples import make
from sklearn.metrics import accuracy_score, f1_score, precision_score

import fairret
from fairret.metric import ParityTable

ROWS, QUICK_ROWS = 10**6, 10**5
BATCH = 16_384
AGES = (0.25, 0.4, 0.55)  # where age is cut for a peer that takes groups only
PEERS: dict[str, Callable[..., object]] = {
    "pr": selection_rate,
    "tpr": true_positive_rate,
    "fpr": false_positive_rate,
    "ppv": precision_score,
    "accuracy": accuracy_score,
    "fnr": false_negative_rate,
    "tnr": true_negative_rate,
    "f_score": f1_score,
}
FASTER, AS_LONG = 100.0, 3.0


def run(quick: bool) -> list[Row]:
    """Measure the stream, its memory and the audit on the same people."""
    people = table(QUICK_ROWS if quick else ROWS)
    return [stream(people), memory(people), audit(people, 3 if quick else 7)]


def table(n: int) -> pd.DataFrame:
    """Draw people with three traits, a score, its decision and a label."""
    data = make(1, n)
    sens = data.sens[0]
    return pd.DataFrame(
        {
            "sex": np.array(["f", "m"])[sens[:, :2].argmax(1)],
            "race": np.array(list("abcde"))[sens[:, 2:7].argmax(1)],
            "age": np.array(["<25", "25-39", "40-54", "55+"])[
                np.searchsorted(AGES, sens[:, 7])
            ],
            "score": 1 / (1 + np.exp(-data.logit[0, :, 0].astype(np.float64))),
            "label": data.label[0, :, 0].astype(int),
        }
    )


def encode(people: pd.DataFrame) -> tuple[tuple[torch.Tensor, ...], tuple[str, ...]]:
    """Make tensors of the table: decisions, memberships, labels."""
    encoder = fairret.sensitive.SensitiveEncoder(["sex", "race", "age"])
    sens = encoder.fit_transform(people[["sex", "race", "age"]])
    decision = torch.tensor((people["score"] > 0.5).to_numpy(), dtype=torch.float32)
    label = torch.tensor(people["label"].to_numpy(), dtype=torch.float32)
    return (decision, sens, label), encoder.names


def measured(
    tensors: tuple[torch.Tensor, ...], names: tuple[str, ...], batch: int
) -> tuple[ParityTable, dict[str, dict[str, float]]]:
    """Stream all rows, and ask for everything there is."""
    metric = ParityTable(list(PEERS), names=names)
    for rows in zip(*(torch.split(x, batch) for x in tensors), strict=True):
        metric.update(*rows)
    values = {}
    for name, (result, _) in metric.compute().items():
        values[name] = {key: group.statistic for key, group in result.groups.items()}
        _ = result.covariance, result.test, result.noise_floor
    return metric, values


def frames(people: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Compute the same by the peer, trait by trait."""
    decision = (people["score"] > 0.5).astype(int)
    values: dict[str, dict[str, float]] = {name: {} for name in PEERS}
    for trait in ("sex", "race", "age"):
        frame = MetricFrame(
            metrics=PEERS,
            y_true=people["label"],
            y_pred=decision,
            sensitive_features=people[trait],
        )
        for name in PEERS:
            for group, value in frame.by_group[name].items():
                values[name][f"{trait}={group}"] = float(value)
    return values


def stream(people: pd.DataFrame) -> Row:
    """Time both once the table is in memory; ours is encoded, as in an evaluation."""
    tensors, names = encode(people)
    times = interleave(
        {"ours": block_of(lambda: measured(tensors, names, BATCH))},
        {"ours": 1},
        rounds=5,
    )
    start = time.process_time()
    theirs = frames(people)
    seconds = time.process_time() - start
    ours = measured(tensors, names, BATCH)[1]
    gap = max(abs(ours[k][g] - theirs[k][g]) for k in ours for g in ours[k])
    faster = seconds / median(times["ours"])
    missed = [] if faster >= FASTER else [f"{faster / FASTER:.2f} of the speed"]
    return Row(
        f"4 stream of {len(people):,} rows, 3 traits, 8 statistics",
        f"{duration(median(times['ours']))} with intervals, covariance, test",
        f"{duration(seconds)}, MetricFrame for each trait, values alone",
        f"{faster:.0f} ×, values differ by {gap:.0e}",
        f"≥ {FASTER:.0f} ×",
        verdict(missed),
    )


def memory(people: pd.DataFrame) -> Row:
    """Compare the state after few batches with that after many."""
    tensors, names = encode(people)
    sizes = []
    for batch in (len(people), BATCH, 1024):
        metric, _ = measured(tensors, names, batch)
        states = (getattr(metric, name) for name in metric._defaults)
        sizes.append(sum(x.numel() * x.element_size() for x in states))
    missed = [] if len(set(sizes)) == 1 else ["it grows"]
    return Row(
        "4 stream, size of the state",
        f"{sizes[-1] / 1e3:.0f} kB after {-(-len(people) // 1024)} batches",
        f"{sizes[0] / 1e3:.0f} kB after 1",
        f"{sizes[-1] / sizes[0]:.2f}",
        "1",
        verdict(missed),
    )


def audit(people: pd.DataFrame, rounds: int) -> Row:
    """Time the audit of a CSV file, sentences included, against reading it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predictions.csv"
        people.to_csv(path, index=False)

        def ours() -> str:
            result = fairret.audit(
                path, score="score", label="label", sensitive=["sex", "race", "age"]
            )
            return str(result)

        times = interleave(
            {"ours": block_of(ours), "pandas": block_of(lambda: pd.read_csv(path))},
            {"ours": 2, "pandas": 2},
            rounds=rounds,
        )
    found = ratio(times["ours"], times["pandas"])
    missed = [] if found.value <= AS_LONG else [f"by {found.value - AS_LONG:.2f}"]
    return Row(
        f"4 audit of a CSV of {len(people):,} rows, 3 traits, 7 notions",
        f"{duration(median(times['ours']))}, reading included",
        f"{duration(median(times['pandas']))}, pandas.read_csv",
        f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})",
        f"≤ {AS_LONG:.0f}",
        verdict(missed),
    )

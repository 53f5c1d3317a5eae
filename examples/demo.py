"""Train a network without and with a fairret, for four notions of fairness.

    python examples/demo.py [--notions DP EO PP TE] [--rows N] [--epochs N] [--seed N]
        [--output PATH]

The data come from `fairret.lab.dataset.synthetic_population`: job applicants, some of
them qualified, with known biases. The paper's network never sees their sensitive
traits. It is trained on 70 % of them, once with the log-loss alone and once per notion
with a fairness term. Two tables and a figure show the result on the other 30 %. In the
end, a rule on the first network keeps a stated tolerance, with a certificate. Needs
`pip install 'fairret[demo]'`.

The figure in the README is `--notions DP EO --output docs/demo.png`.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from _demo_audit import HeldOut, Notion, compare, quality
from _demo_figure import draw
from _demo_rule import show_rule
from _demo_table import progress_bar, show
from torch import Tensor, nn

from fairret.console import stdout_console
from fairret.lab.dataset import synthetic_population
from fairret.loss import KLProjectionLoss, NormLoss, SmoothMaxLoss
from fairret.sensitive import SensitiveEncoder
from fairret.statistic import (
    FalseNegativeFalsePositiveFraction,
    PositivePredictiveValue,
    PositiveRate,
    TruePositiveRate,
)

HIDDEN = (256, 128, 32)
LEARNING_RATE = 1e-3
BATCH = 1024  # large enough to estimate every group's statistic (App. C.3)
WARM_UP = 0.2  # share of the epochs at strength 0

# A sharpness above 1 brings the scores closer to hard decisions (App. B.3).
NOTIONS = (
    Notion(
        "DP",
        "demographic parity",
        "share accepted",
        NormLoss(PositiveRate(), sharpness=5),
        strength=0.2,
    ),
    Notion(
        "EO",
        "equal opportunity",
        "share of the qualified accepted",
        KLProjectionLoss(TruePositiveRate(), sharpness=5),
        strength=10,
    ),
    Notion(
        "PP",
        "predictive parity",
        "share of the accepted who are qualified",
        NormLoss(PositivePredictiveValue(), sharpness=3),
        strength=0.5,
    ),
    Notion(
        "TE",
        "treatment equality",
        "qualified rejected per unqualified accepted",
        SmoothMaxLoss(FalseNegativeFalsePositiveFraction(), sharpness=5),
        strength=0.3,
    ),
)


class Rows(NamedTuple):
    """The rows that a network is trained on."""

    feat: Tensor  # (n, 6)
    sens: Tensor  # (n, d_s)
    label: Tensor  # (n,)


def split(n: int, seed: int) -> tuple[Rows, Tensor, HeldOut]:
    """Draw applicants: training rows, then features and other columns to test on."""
    people = synthetic_population(n, seed)
    cut = n * 7 // 10
    encoder = SensitiveEncoder(["sex", "region", "age"])
    sens = encoder.fit_transform({k: v[:cut] for k, v in people.traits.items()})
    train = Rows(people.feat[:cut], sens, people.label[:cut])
    sens = encoder.transform({k: v[cut:] for k, v in people.traits.items()})
    return train, people.feat[cut:], HeldOut(sens, encoder.names, people.label[cut:])


def build_network(d_x: int) -> nn.Sequential:
    """Build the paper's network: ReLU layers of 256, 128 and 32 units, one logit."""
    layers: list[nn.Module] = []
    for width in HIDDEN:
        layers += [nn.Linear(d_x, width), nn.ReLU()]
        d_x = width
    return nn.Sequential(*layers, nn.Linear(d_x, 1), nn.Flatten(0))


def train(
    rows: Rows,
    notion: Notion | None,
    *,
    epochs: int,
    seed: int,
    tick: Callable[[], object],
) -> nn.Module:
    """Train a network, from the same weights and batches for every notion."""
    torch.manual_seed(seed)
    network = build_network(rows.feat.shape[1])
    optimizer = torch.optim.Adam(network.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    n = len(rows.label)
    for epoch in range(epochs):
        for batch in torch.randperm(n).split(min(BATCH, n))[: max(1, n // BATCH)]:
            feat, sens, label = (column[batch] for column in rows)
            logit = network(feat)
            loss = F.binary_cross_entropy_with_logits(logit, label)
            if notion is not None and epoch >= WARM_UP * epochs:
                loss = loss + notion.strength * notion.loss(logit, sens, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        tick()
    return network


@torch.no_grad()
def score(network: nn.Module, feat: Tensor) -> Tensor:
    """Compute the predicted probabilities."""
    prob: Tensor = torch.sigmoid(network(feat))
    return prob


def main(argv: Sequence[str] | None = None) -> None:
    """Train a network without a term and one per notion, and show the results."""
    options = read_options(argv)
    torch.set_num_threads(1)  # a second thread does not pay off for small batches
    console = stdout_console()
    rows, feat, test = split(options.rows, options.seed)
    notions = [notion for notion in NOTIONS if notion.key in options.notions]
    networks = []
    with progress_bar(console) as progress:
        task = progress.add_task("", total=options.epochs * (len(notions) + 1))
        for notion in (None, *notions):
            term = f"{notion.key}: {notion.term}" if notion else "log-loss alone"
            progress.update(task, description=f"Training with {term}")
            network = train(
                rows,
                notion,
                epochs=options.epochs,
                seed=options.seed,
                tick=lambda: progress.advance(task),
            )
            networks.append(network)
        progress.update(task, description=f"Trained {len(networks)} networks")
    plain, *fair = (score(network, feat) for network in networks)
    effects = [
        compare(notion, plain, prob, test)
        for notion, prob in zip(notions, fair, strict=True)
    ]
    show(console, quality(plain, test.label), effects, test)
    draw(effects, test.groups, options.output)
    console.print(f"Figure written to {options.output}\n", markup=False, soft_wrap=True)
    show_rule(console, networks[0], rows, feat, test)


def read_options(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    keys = [notion.key for notion in NOTIONS]
    parser.add_argument(
        "--notions", nargs="+", choices=keys, default=keys, help="all by default"
    )
    parser.add_argument("--rows", type=int, default=10_000, help="applicants (10000)")
    parser.add_argument("--epochs", type=int, default=30, help="per network (30)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (0)")
    parser.add_argument(
        "--output", type=Path, default=Path("demo.png"), help="figure (demo.png)"
    )
    options = parser.parse_args(argv)
    if options.rows < 200 or options.epochs < 1 or options.seed < 0:
        parser.error("--rows must be at least 200, --epochs 1 and --seed 0")
    return options


if __name__ == "__main__":
    main()

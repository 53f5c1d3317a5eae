"""From a trained network to a certified rule: at most 10 % apart.

    python examples/tolerance.py [--output curve.png]

Trains a network on a synthetic population, builds a rule that keeps the positive rates
of all groups within 10 % of the overall one, and certifies it on people whom neither
has seen. The figure shows what other tolerances would cost.
"""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from fairret.control import certificate, control_network, tradeoff
from fairret.lab.dataset import load


def train(feat: torch.Tensor, label: torch.Tensor) -> nn.Module:
    """Train a plain network, without any fairness term."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(feat.shape[1], 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    for _ in range(10):
        for i in torch.randperm(len(feat)).split(512):
            logit = network(feat[i])[:, 0]
            loss = F.binary_cross_entropy_with_logits(logit, label[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return network


def main() -> None:
    """Train, control, certify, draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", help="where to draw the curve")
    parser.add_argument("--rows", type=int, default=20_000, help="people to draw")
    options = parser.parse_args()
    people = load("synthetic", n=options.rows, seed=0)
    feat = (people.feat - people.feat.mean(0)) / people.feat.std(0)
    sens, label = people.sens, people.label.float().flatten()
    groups = {"names": people.sens_names, "traits": people.traits}
    half = options.rows // 2
    network = train(feat[:half], label[:half])

    rule = control_network(
        network,
        (feat[:half], sens[:half], label[:half]),
        notion="pr",
        max_violation=0.1,
        **groups,
    )
    print(rule.report, end="\n\n")

    plain = (network(feat[half:])[:, 0] > 0).float()
    decision, _ = rule(feat[half:])
    for name, decided in (("without", plain), ("with", decision)):
        right = (decided == label[half:]).float().mean()
        found = certificate(decided, sens[half:], label[half:], notion="pr", **groups)
        print(f"{name} the rule: accuracy {right:.3f}. {found}")

    if options.output:
        logit, q = rule.read(feat[:half])
        curve = tradeoff(
            torch.sigmoid(logit),
            sens[:half],
            label[:half],
            q=q.chunk(2, 1),
            notion="pr",
            **groups,
        )
        figure, _ = curve.plot()
        figure.savefig(options.output, dpi=150, bbox_inches="tight")


if __name__ == "__main__":
    main()

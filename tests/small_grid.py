"""An experiment of four short runs, and the command that works on it."""

from typer.testing import CliRunner

from fairret.cli.app import app

FILE = """\
datasets = ["synthetic"]
statistics = ["pr"]
seeds = [0, 1]

[training]
epochs = 3
warm_up = 1
batch = 2000
hidden = [6]

[[method]]
name = "Unfair"

[[method]]
name = "Norm"
strengths = [0.5]
"""


def call(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))

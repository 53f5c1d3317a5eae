"""`fairret figure` writes files, or says in one sentence why not."""

import sys
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from fairret.cli.app import app
from fairret.lab.experiment import Store, read_experiment
from fairret.lab.plot import FIGURES, style
from stored_runs import fill, write_file

pytestmark = pytest.mark.slow  # draws figures

ROOT = Path(__file__).parents[3]
FROM_RESULTS = [
    name
    for name, figure in FIGURES.items()
    if figure.experiment != "unfair" and name != "trade_offs_single"
]
ONE = """
datasets = ["synthetic"]
statistics = ["pr"]
seeds = [0]
[training]
epochs = 1
warm_up = 0
[[method]]
name = "Unfair"
"""


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def written(folder, name):
    png, pdf = folder / f"{name}.png", folder / f"{name}.pdf"
    assert png.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert pdf.read_bytes().startswith(b"%PDF-")
    return True


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    monkeypatch.setattr(style, "DPI", 60)  # as many pixels as on paper take longer


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    file = write_file(folder, statistics=["pr", "fn_fp"], seeds=[0, 1])
    fill(folder / "made_up.sqlite", file, wanted=lambda run: run.dataset == "bank")
    return file


def one_sentence(result, *words):
    assert result.exit_code == 2
    assert result.stderr.startswith("fairret: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize("name", FROM_RESULTS)
def test_figure_of_results_is_written_as_png_and_pdf(made_up, tmp_path, name):
    result = run("figure", name, "--experiment", made_up, "--output", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "Written: " in result.stdout
    assert written(tmp_path / "new", name)


def test_single_trait_is_written(tmp_path):
    file = write_file(tmp_path, traits=["single"], statistics=["pr", "ppv"])
    fill(tmp_path / "made_up.sqlite", file, wanted=lambda run: run.dataset == "bank")
    name = "trade-offs-single"  # dashes are as good
    result = run("figure", name, "--experiment", file, "--output", tmp_path)
    assert result.exit_code == 0, result.output
    assert "the single trait" in result.stdout
    assert written(tmp_path, "trade_offs_single")


def test_figures_of_scores_are_written_without_a_store(tmp_path):
    file = tmp_path / "one.toml"
    file.write_text(ONE)
    for name in ("gradients", "projections", "batches"):
        result = run("figure", name, "--experiment", file, "--output", tmp_path)
        assert result.exit_code == 0, result.output
        assert written(tmp_path, name)
    assert not file.with_suffix(".sqlite").exists()
    assert len(list(tmp_path.glob("*.npz"))) == 1


def test_list_names_all_figures():
    result = run("figure", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(FIGURES)


def test_unknown_name_gets_the_nearest_one():
    one_sentence(run("figure", "gradient"), "Did you mean 'gradients'?")


def test_no_name_is_said():
    one_sentence(run("figure"), "fairret figure --list")


def test_missing_store_is_said_and_not_made(tmp_path):
    file = write_file(tmp_path)
    one_sentence(run("figure", "trade_offs", "--experiment", file), "fairret run")
    assert not (tmp_path / "made_up.sqlite").exists()


def test_empty_store_is_said(tmp_path):
    file = write_file(tmp_path)
    Store(tmp_path / "made_up.sqlite")
    for name in FROM_RESULTS:
        one_sentence(run("figure", name, "--experiment", file), "holds none")


def test_missing_experiment_is_said(tmp_path):
    file = tmp_path / "none.toml"
    one_sentence(run("figure", "trade_offs", "--experiment", file), "none.toml")


def test_missing_matplotlib_is_said(made_up, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("figure", "run_times", "--experiment", made_up, "--output", tmp_path)
    one_sentence(result, "pip install 'fairret[experiment]'")


@pytest.mark.parametrize("name", sorted({x.experiment for x in FIGURES.values()}))
def test_file_of_every_figure_can_be_read(name):
    path = ROOT / "experiments" / f"{name}.toml"
    assert read_experiment(path).name
    feeds = [figure for figure, known in FIGURES.items() if known.experiment == name]
    text = path.read_text()
    assert name.startswith("trade_offs") or any(feed in text for feed in feeds)


def test_every_experiment_feeds_a_figure():
    known = {x.experiment for x in FIGURES.values()}
    known |= {name for x in FIGURES.values() for name in getattr(x, "also", ())}
    assert known == {path.stem for path in (ROOT / "experiments").glob("*.toml")}


def test_figure_shows_its_further_file_where_it_has_results(tmp_path):
    one = {"statistics": ["pr"]}
    first = write_file(tmp_path, "trade_offs", datasets=["bank"], **one)
    other = {"datasets": ["acsincome"], "seeds": [7]}
    second = write_file(tmp_path, "trade_offs_acs", **other, **one)
    store = tmp_path / "trade_offs.sqlite"
    command = ("figure", "trade_offs", "--experiment", first, "--output", tmp_path)
    fill(store, first)
    assert "ACSIncome" not in run(*command).stdout
    fill(store, second)
    result = run(*command)
    assert "ACSIncome (46 % sample) 17" in result.stdout
    words = "mean over 3 seeds (1 for ACSIncome (46 % sample))"
    assert words in " ".join(result.stdout.split())


def test_hypervolumes_are_printed(made_up):
    result = run("results", made_up, "--hypervolume")
    assert result.exit_code == 0, result.output
    rows = [x.split() for x in result.stdout.splitlines() if x.startswith("bank")]
    assert [row[2] for row in rows[:4]] == ["SmoothMax", "KL", "HSIC", "Norm"]
    assert len(rows) == 2 * 4 + 2  # HSIC is for no notion, and measured for all four


@pytest.mark.parametrize("options", [[], ["--beyond-chance"]])
def test_exported_volumes_name_their_violation(made_up, tmp_path, options):
    path = tmp_path / "volumes.csv"
    result = run("results", made_up, "--hypervolume", *options, "--output", path)
    assert result.exit_code == 0, result.output
    named = {*pd.read_csv(path)["violation"]}
    assert named == {"violation_beyond_chance" if options else "violation"}


def test_hypervolumes_of_an_empty_store_are_none(tmp_path):
    file = write_file(tmp_path)
    Store(file.with_suffix(".sqlite"))
    result = run("results", file, "--hypervolume")
    assert result.exit_code == 0
    assert "bank" not in result.stdout

"""The command `results`: what it prints, writes and takes back."""

import pandas as pd
import pytest

from fairret.lab.experiment import Store, list_runs, read_experiment
from small_grid import FILE, call

BASELINE = FILE + '\n[[method]]\nname = "HSIC"\nstrengths = [1]\n'
OTHER = "of another version or configuration."
ELSEWHERE = "of another experiment, version or configuration."


def runs(file):
    return list_runs(read_experiment(file))


def store_numbers(file):
    """Results as if all had been trained; violations tell the traits they are of."""
    store = Store(file.with_suffix(".sqlite"))
    for run in runs(file):
        numbers = {
            f"test/{kind}/pr/{what}/{traits}": value
            for kind in ("violation", "floor")
            for what in ("scores", "decisions")
            for traits, value in (("all", 0.75), ("single", 0.25))
        }
        utilities = {"auroc": 0.7, "log_loss": 0.5, "accuracy": 0.8, "base_rate": 0.55}
        numbers |= {f"test/{name}": x for name, x in utilities.items()}
        store.finish(run, 1.0, numbers)
    return store


def rows(text):
    """The cells of a table, without its caption."""
    lines = text.splitlines()[2:]
    end = next(i for i, line in enumerate(lines) if line.startswith("Means over"))
    return [line.split() for line in lines[:end]]


@pytest.mark.slow
def test_results_are_printed_and_exported(file):
    call("run", "grid.toml")
    shown = call("results", "grid.toml")
    assert shown.exit_code == 0
    assert shown.stderr == ""
    assert [row[:6] for row in rows(shown.stdout)] == [
        ["synthetic", "Unfair", "all", "all", "0", "2"],
        ["synthetic", "Norm", "pr", "all", "0.5", "2"],
    ]
    for name, read in (("all.csv", pd.read_csv), ("all.parquet", pd.read_parquet)):
        result = call("results", "grid.toml", "--output", name)
        assert result.stdout == f"4 of 4 runs written to {name}.\n"
        table = read(name)
        assert table["key"].tolist() == [run.key for run in runs(file)]
        assert table["test/auroc"].between(0.3, 1).all()


def test_export_that_cannot_be_written_has_exit_code_2(file):
    Store(file.with_suffix(".sqlite"))
    for name, words in (
        ("a.xls", ".csv or .parquet"),
        ("no/where.csv", "be a file that can be written; no/where.csv cannot ("),
        ("no/where.parquet", "be written; no/where.parquet cannot ("),
    ):
        result = call("results", "grid.toml", "--output", name)
        assert result.exit_code == 2
        assert words in result.stderr
        assert result.stderr.count("\n") == 1


def test_results_of_a_part_of_the_runs_say_so(file):
    store = Store(file.with_suffix(".sqlite"))
    for run in runs(file)[:3]:
        store.finish(run, 1.0, {"test/auroc": 0.5})
    for options in ([], ["--hypervolume"]):
        result = call("results", "grid.toml", *options)
        assert result.exit_code == 0
        assert result.stderr == "3 of 4 runs are finished.\n"


@pytest.mark.parametrize(
    ("traits", "shown"),
    [
        ('"all"', [["all", "0.750"]] * 3),
        ('"single"', [["single", "0.250"]] * 3),
        (
            '["all", "single"]',
            [["all", "0.750"], ["single", "0.250"]] * 3,
        ),
    ],
)
def test_violations_of_all_rows_are_of_the_traits_of_the_file(file, traits, shown):
    file.write_text(f"traits = {traits}\n{BASELINE}")
    store_numbers(file)
    found = rows(call("results", "grid.toml").stdout)
    assert [[row[3], row[-1]] for row in found] == shown
    assert [row[-2] for row in found] == [row[-1] for row in found]


@pytest.mark.parametrize(
    ("name", "read"), [("hv.csv", pd.read_csv), ("hv.parquet", pd.read_parquet)]
)
def test_volumes_are_written_to_a_file(file, name, read):
    store_numbers(file)
    result = call("results", "grid.toml", "--hypervolume", "--output", name)
    assert result.exit_code == 0
    table = read(name)
    assert result.stdout == f"{len(table)} volumes written to {name}.\n"
    assert {"dataset", "statistic", "view", "label", "value"} <= {*table.columns}
    assert set(table["label"]) == {"Norm"}
    assert call("results", file, "--hypervolume", "--output", "x.xls").exit_code == 2


def test_volumes_say_which_violation_they_are_of(file):
    store_numbers(file)
    for options, kind, of, least in (
        ([], "step", "largest violation", "no more violation than the floor"),
        (["--curve"], "curve", "largest violation", "no more violation than the floor"),
        (
            ["--beyond-chance"],
            *("step", "violation beyond chance", "no violation beyond chance"),
        ),
    ):
        shown = call("results", "grid.toml", "--hypervolume", *options).stdout
        assert shown.split("\n")[0].rstrip() == f"Volumes ({kind}) of the {of}"
        assert f"1: its utility with {least}." in shown
        assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("option", ["--curve", "--beyond-chance"])
def test_options_of_volumes_need_them(file, option):
    store_numbers(file)
    result = call("results", "grid.toml", option)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"`{option}` needs `--hypervolume`." in result.stderr


def test_decisions_of_models_that_refuse_everyone_have_no_mean(file):
    store = Store(file.with_suffix(".sqlite"))
    accepted = {("Unfair", 0): 0.4, ("Unfair", 1): 0.0, ("Norm", 0): 0.0}
    for run in runs(file):
        level = 0.5 + run.seed
        numbers = {f"test/violation/pr/{x}/all": level for x in ("scores", "decisions")}
        numbers["test/positive_rate"] = accepted.get((run.method, run.seed), 0.0)
        store.finish(run, 1.0, numbers)
    found = rows(call("results", "grid.toml").stdout)
    assert [row[-2:] for row in found] == [["1.000", "0.500"], ["1.000", "–"]]


def test_runs_of_another_version_are_counted_and_not_shown(file, monkeypatch):
    store_numbers(file)
    monkeypatch.setattr("fairret.lab.experiment.grid.REVISION", 99)
    for options in ([], ["--hypervolume"]):
        result = call("results", "grid.toml", *options)
        assert result.exit_code == 0
        assert result.stderr == f"grid.sqlite also has 4 runs {ELSEWHERE}\n"
        assert result.stdout.startswith("grid.sqlite has no run of grid.toml. Train")
        assert result.stdout.count("\n") == 1


def test_empty_store_is_told_in_a_sentence(file):
    Store(file.with_suffix(".sqlite"))
    result = call("results", "grid.toml")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "grid.sqlite has no run of grid.toml. Train with `fairret run grid.toml` "
        "first.\n"
    )


@pytest.mark.parametrize("name", ["all.csv", "all.parquet"])
def test_restored_runs_are_counted(file, name, monkeypatch):
    store_numbers(file)
    call("results", "grid.toml", "--output", name)
    options = ["--store", "new.sqlite", "--restore", name]
    first = call("results", "grid.toml", *options)
    assert first.stdout.startswith(f"4 runs taken from the 4 of {name}.\n")
    again = call("results", "grid.toml", *options)
    assert again.stdout.startswith(
        f"0 runs taken from the 4 of {name}; 4 runs already here.\n"
    )
    monkeypatch.setattr("fairret.lab.experiment.grid.REVISION", 99)
    other = call("results", "grid.toml", "--store", "other.sqlite", "--restore", name)
    words = f"4 runs taken from the 4 of {name}; 4 runs {OTHER}\n"
    assert other.stdout.startswith(words)


def test_file_that_is_not_there_is_told(file):
    result = call("results", file, "--restore", "all.csv")
    assert result.exit_code == 2
    assert "`--output` wrote; all.csv does not exist. Check" in result.stderr


def test_file_that_is_no_export_is_refused(file):
    store_numbers(file)
    call("results", "grid.toml", "--output", "all.csv")
    table = pd.read_csv("all.csv")
    cases = {
        "text.csv": "Dear all,\nthis is no table.\n",
        "none.csv": "",
        "head.csv": "a,b\n",
        "options.csv": table.assign(options=None).to_csv(index=False),
        "training.csv": table.assign(training="3").to_csv(index=False),
        "text.parquet": "no Parquet",
    }
    for name, content in cases.items():
        file.with_name(name).write_text(content)
        result = call("results", "grid.toml", "--restore", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"must be a file that `--output` wrote; {name} is not (" in result.stderr
        assert result.stderr.count("\n") == 1

"""The commands `run` and `results`: exit codes, messages, and what they leave."""

import re
import sys
import time

import pytest
from rich import progress
from rich.console import Console

from fairret.lab.commands.experiment import description_column
from fairret.lab.experiment import Store, list_runs, read_experiment
from people import people
from processes import finish, kill, start, start_anew
from small_grid import FILE, call

MAIN = "from fairret.cli import main; main()"


def runs(file):
    return list_runs(read_experiment(file))


@pytest.mark.slow
def test_run_trains_what_is_missing_and_tells(file):
    first = call("run", "grid.toml")
    assert first.exit_code == 0
    assert first.stdout == (
        "4 runs: 4 done now, 0 failed, 0 were there before. "
        "Results are in grid.sqlite.\n"
    )
    assert first.stderr == ""  # no bar where nobody watches
    again = call("run", "grid.toml")
    assert again.stdout.startswith("4 runs: 0 done now, 0 failed, 4 were there before")
    file.write_text(FILE.replace("[0, 1]", "[0, 1, 2]"))
    more = call("run", "grid.toml")
    assert more.stdout.startswith("6 runs: 2 done now, 0 failed, 4 were there before")


@pytest.mark.slow
def test_store_may_be_elsewhere(file, tmp_path):
    place = tmp_path / "deeper" / "other.sqlite"
    assert call("run", "grid.toml", "--store", place).exit_code == 0
    assert not file.with_suffix(".sqlite").exists()
    assert len(Store(place).finished()) == 4
    assert "Unfair" in call("results", "grid.toml", "--store", place).stdout


@pytest.mark.slow
def test_failures_are_told_and_tried_again_on_request(file):
    store = Store(file.with_suffix(".sqlite"))
    failed, *_ = runs(file)
    store.fail(failed, "no luck [red]")
    done = call("run", "grid.toml")
    assert done.exit_code == 1  # also where it has failed before
    assert done.stdout.startswith(
        "4 runs: 3 done now, 0 failed, 1 were there before (1 as failed). Results"
    )
    assert done.stderr == (
        "Failed, 1 run: no luck [red]\n"
        "Remove the cause, then pass `--retry` to train them again.\n"
    )
    shown = call("results", "grid.toml").stdout
    assert "Failed: synthetic Unfair 0 seed 0: no luck [red]\n" in shown
    retried = call("run", "grid.toml", "--retry")
    assert (retried.exit_code, retried.stderr) == (0, "")
    assert retried.stdout.startswith("4 runs: 1 done now, 0 failed, 3 were there")
    assert "Failed" not in call("results", "grid.toml").stdout


def test_reasons_of_failures_are_told_with_their_counts(file):
    text = FILE.replace("0, 1]", "0, 1, 2, 3, 4, 5]").replace("0.5", "0.5, 1, 2")
    file.write_text(text)
    store = Store(file.with_suffix(".sqlite"))
    all_runs = runs(file)
    for k, run in enumerate(all_runs):
        store.fail(run, "it diverged" if k < 15 else f"reason {k}")
    result = call("run", "grid.toml")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[:2] == ["Failed, 15 runs: it diverged", "Failed, 1 run: reason 15"]
    assert lines[5].startswith("Failed, 5 runs, for 5 other reasons: `fairret results")
    assert len(lines) == 7


def test_run_that_fails_now_has_exit_code_1(file):
    file.write_text(FILE.replace("epochs = 3", "epochs = 3\nlearning_rate = 1e30"))
    result = call("run", "grid.toml")
    assert result.exit_code == 1
    assert result.stdout.startswith("4 runs: 0 done now, 4 failed, 0 were there before")
    assert "`strength` must leave the loss finite" in result.stderr
    assert result.stderr.endswith("pass `--retry` to train them again.\n")


@pytest.mark.slow
def test_missing_data_leave_nothing_and_the_same_command_works_later(
    file, tmp_path, monkeypatch
):
    monkeypatch.setenv("FAIRRET_DATA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "pooch", None)
    file.write_text(FILE.replace('["synthetic"]', '["synthetic", "lawschool"]'))
    result = call("run", "grid.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(r"fairret: .*FAIRRET_DATA_HOME.*\n", result.stderr)
    assert Store(file.with_suffix(".sqlite")).status() == {}
    file.write_text(FILE)
    assert call("run", "grid.toml").stdout.startswith("4 runs: 4 done now, 0 failed")


@pytest.mark.slow
def test_runs_of_another_runner_are_told(file):
    other = Store(file.with_suffix(".sqlite"))
    assert other.claim(runs(file)[0])
    result = call("run", "grid.toml")
    assert result.exit_code == 0
    assert "3 done now, 0 failed, 0 were there before, 1 with another" in result.stdout
    assert "start again after 120 seconds" in result.stderr


WRONG = {
    "key": ("seeds", "seds", "grid.toml, line 3: unknown key `seds`.* mean 'seeds'"),
    "dataset": ("synthetic", "sinthetic", "line 1: .* mean 'synthetic'"),
    "method": ('"Norm"', '"norm"', "line 15: .* mean 'Norm'"),
    "statistic": ('"pr"', '"prr"', "line 2: .* mean 'pr'"),
    "syntax": ("[training]", "[training", "`file` must be TOML.* line 5"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistake_has_exit_code_2_before_anything_is_trained(case, file):
    old, new, words = WRONG[case]
    file.write_text(FILE.replace(old, new))
    for command in ("run", "results"):
        result = call(command, "grid.toml")
        assert result.exit_code == 2
        assert result.stdout == ""
        assert re.fullmatch(rf"fairret: .*{words}.*\n", result.stderr)
    assert not file.with_suffix(".sqlite").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nowhere.toml"], "nowhere.toml cannot be read"),
        (["run", "grid.toml", "--jobs", "0"], "`jobs` must be at least 1"),
        (["run", "grid.toml", "--backend", "dask"], "`scheduler` is required"),
        (["run", "grid.toml", "--store", "grid.toml"], "must be a SQLite file"),
        (["results", "grid.toml"], "grid.sqlite does not exist. Train with"),
    ],
)
@pytest.mark.usefixtures("file")
def test_wrong_use_is_told_in_one_line_with_exit_code_2(arguments, words):
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("fairret: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.process
def test_bar_shows_how_many_and_the_time_left(file):
    code, out, err = finish(start(MAIN, "run", file, FORCE_COLOR="1", COLUMNS="150"))
    assert code == 0
    assert out.startswith("4 runs: 4 done now")
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", err)
    assert re.search(r"Training; last synthetic .* 4/4 .* left \d:\d\d:\d\d", text)


@pytest.mark.process
def test_killed_command_goes_on_with_what_is_missing(file):
    file.write_text(FILE.replace("epochs = 3", "epochs = 40").replace("1]", "1, 2]"))
    store = Store(file.with_suffix(".sqlite"))
    first = start(MAIN, "run", file)
    limit = time.monotonic() + 60
    while not store.finished() and time.monotonic() < limit:
        time.sleep(0.01)
    kill(first)
    before = dict(store.finished())
    assert 1 <= len(before) < 6
    again = call("run", "grid.toml")
    assert f"{6 - len(before)} done now, 0 failed, {len(before)} were" in again.stdout
    after = dict(store.finished())
    assert {key: after[key] for key in before} == before  # seconds, too


HEAVY = "pandas joblib matplotlib dask distributed sklearn pooch tomli tomllib"


@pytest.mark.process
def test_command_starts_without_what_only_experiments_need():
    code = f"""
import sys
import fairret.cli.app
print([name for name in "{HEAVY}".split() if name in sys.modules])
"""
    assert finish(start_anew(code)) == (0, "[]\n", "")


@pytest.mark.process
def test_audit_does_not_need_what_only_experiments_need(tmp_path):
    people(300).to_csv(tmp_path / "predictions.csv", index=False)
    code = f"""
import sys
class Missing:
    def find_spec(self, name, *place):
        if name in "{HEAVY}".split():
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
from fairret.cli import main
main()
"""
    options = ["--score", "p", "--sensitive", "sex", "--label", "y"]
    ended = finish(start_anew(code, "audit", tmp_path / "predictions.csv", *options))
    assert (ended[0], ended[2]) == (0, "")
    assert "Demographic parity" in ended[1]


@pytest.mark.process
def test_audit_leaves_it_to_pyarrow_whether_pandas_is_imported(tmp_path):
    people(300).to_csv(tmp_path / "predictions.csv", index=False)
    code = f"""
import sys
from typer.testing import CliRunner
from fairret.cli.app import app
options = "--score p --sensitive sex --label y".split()
assert CliRunner().invoke(app, ["audit", sys.argv[1], *options]).exit_code == 0
# pyarrow imports pandas for every value that comes from Python, if it is there
heavy = set("{HEAVY}".split()) - {{"pandas"}}
print([name for name in heavy if name in sys.modules])
"""
    done = finish(start_anew(code, tmp_path / "predictions.csv"))
    assert done == (0, "[]\n", "")


def test_counts_and_times_have_room_beside_long_names():
    count = progress.MofNCompleteColumn()
    bar = progress.Progress(description_column(), progress.BarColumn(), count)
    bar.add_task("Training; last " + "a very long name " * 9, total=3420, completed=17)
    console = Console(width=80, record=True)
    console.print(bar.get_renderable())
    assert "  17/3420" in console.export_text()

"""Methods and datasets of one's own work in every process."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fairret.cli.app import app
from fairret.errors import ArgumentError
from fairret.lab import dataset
from fairret.lab import plugins as module
from fairret.lab.dataset import NameTakenError, catalogue, load_bank
from fairret.lab.experiment import (
    ConfigError,
    Method,
    Plugin,
    PluginError,
    Progress,
    Store,
    list_runs,
    methods,
    read_experiment,
    register_method,
    run_missing,
)
from fairret.lab.experiment.work import with_plugins, work
from processes import PATHS

DOCS = Path(__file__).parents[2] / "docs" / "experiments.md"


@pytest.fixture(autouse=True)
def own_registries(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(catalogue, "_LOADERS", dict(catalogue._LOADERS))
    monkeypatch.setattr(module, "_IMPORTED", {})
    before = dict(methods.METHODS)
    yield
    methods.METHODS.clear()
    methods.METHODS.update(before)


@pytest.fixture
def example(tmp_path):
    """The example of the documentation, as files."""
    text = DOCS.read_text(encoding="utf-8")
    for kind, name in (("python", "mine.py"), ("toml", "mine.toml")):
        (block,) = re.findall(rf"```{kind}\n(.*?)```", text, re.DOTALL)
        (tmp_path / name).write_text(block, encoding="utf-8")
    return tmp_path / "mine.toml"


def numbers(store):
    return {key: one.result for key, one in store.finished()}


@pytest.mark.process
def test_two_jobs_of_the_documented_example_give_the_numbers_of_one(example, tmp_path):
    call = CliRunner().invoke
    done = call(app, ["run", str(example), "--jobs", "2"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("5 runs: 5 done now, 0 failed")
    shown = call(app, ["results", str(example)]).stdout
    assert re.search(r"loans +PowerOfNorm +pr +all +1 +power=3\.0", shown)
    wanted = read_experiment(example)
    one_by_one = Store(tmp_path / "one.sqlite")
    few = list_runs(wanted)[:3]
    assert run_missing(few, one_by_one) == Progress(3, 0, 3)
    both = numbers(Store(example.with_suffix(".sqlite")))
    assert numbers(one_by_one).items() <= both.items()


@pytest.mark.process
def test_documented_example_runs_on_a_cluster_that_has_no_copy(example, tmp_path):
    distributed = pytest.importorskip("distributed")
    wanted = read_experiment(example)
    (tmp_path / "mine.py").unlink()
    store = Store(tmp_path / "results.sqlite")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=":0"
    ) as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            client.run(lambda: __import__("sys").path.extend(PATHS))
        progress = run_missing(
            list_runs(wanted)[:3],
            store,
            backend="dask",
            scheduler=cluster.scheduler_address,
            plugins=wanted.plugins,
        )
    assert progress == Progress(3, 0, 3)


def test_plugins_are_no_part_of_a_key(example):
    before = [run.key for run in list_runs(read_experiment(example))]
    plugin = example.with_suffix(".py")
    plugin.write_text(plugin.read_text() + "\nVERSION = 2\n")
    after = read_experiment(example)
    assert [run.key for run in list_runs(after)] == before
    assert after.plugins[0].source.endswith("VERSION = 2\n")


WRONG = {
    "missing": ('["mine.py"]', '[\n"her.py"]', 2, "her.py cannot .No such file"),
    "a number": (
        '["mine.py"]',
        "[3]",
        1,
        "`plugins` must be a list of at least one str",
    ),
    "none": ('["mine.py"]', "[]", 1, "`plugins` must be a list"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_name_of_a_plugin_is_told_with_its_line(case, example):
    old, new, line, words = WRONG[case]
    example.write_text(example.read_text().replace(old, new))
    with pytest.raises(ConfigError, match=rf"^mine\.toml, line {line}: .*{words}"):
        read_experiment(example)


BROKEN = {
    "x = 1\nx.shape": r"AttributeError: 'int' object .* \(mine\.py:2\)",
    "x = 1\n\ndef f(:": r"SyntaxError: .* \(mine\.py:3\)",
    "import sys\nsys.exit(3)": r"SystemExit: 3 \(mine\.py:2\)",
    "from fairret.lab.dataset import register\nregister('bank', print)": (
        r"NameTakenError: .* named 'bank' is .* \(mine\.py:2\)"
    ),
}


@pytest.mark.parametrize("source", BROKEN)
def test_plugin_that_breaks_is_named_with_its_own_line(source, example):
    example.with_suffix(".py").write_text(source)
    words = rf"^mine\.toml, line 1: .*mine\.py ended with {BROKEN[source]}\. Correct"
    with pytest.raises(ConfigError, match=words):
        read_experiment(example)


def test_reason_of_a_run_has_the_line_of_the_plugin(example, tmp_path):
    plugin = example.with_suffix(".py")
    text = plugin.read_text().replace("** self.power", "** self.powr")
    plugin.write_text(text)
    line = text[: text.index("self.powr")].count("\n") + 1
    run = next(r for r in list_runs(read_experiment(example)) if r.method != "Unfair")
    store = Store(tmp_path / "one.sqlite")
    assert run_missing([run], store) == Progress(0, 1, 1)
    ((_, found),) = store.finished()
    assert found.reason.endswith(f"no attribute 'powr' (mine.py:{line})")


def test_plugin_that_breaks_in_a_worker_is_not_the_failure_of_a_run():
    broken = Plugin("/nowhere/mine.py", "1 / 0")
    with pytest.raises(PluginError, match=r"ZeroDivisionError: .* \(mine\.py:1\)"):
        with_plugins([broken], work, None)


def test_file_that_is_not_utf8_is_refused(example):
    example.with_suffix(".py").write_bytes(b"x = '\xe9'")
    with pytest.raises(ConfigError, match=r"mine\.py cannot \(it is not UTF-8\)"):
        read_experiment(example)


def test_plugin_is_imported_once_and_anew_when_it_has_changed(example, tmp_path):
    log = tmp_path / "log"
    plugin = example.with_suffix(".py")
    plugin.write_text(
        f"with open({str(log)!r}, 'a') as log:\n    log.write('x')\n"
        + plugin.read_text()
    )
    for _ in range(2):
        read_experiment(example)
    assert log.read_text() == "x"
    plugin.write_text(plugin.read_text().replace("3000", "400"))
    read_experiment(example)
    assert log.read_text() == "xx"
    assert len(dataset.load("loans")) == 400


def test_name_of_another_dataset_is_refused():
    with pytest.raises(NameTakenError, match="A dataset named 'bank' is already"):
        dataset.register("bank", lambda: None)
    dataset.register("bank", load_bank)  # the same one
    with pytest.raises(ArgumentError, match="text in lower case; got 'Loans'"):
        dataset.register("Loans", load_bank)
    with pytest.raises(ArgumentError, match=r"`loader` must be a function .* got str"):
        dataset.register("loans", "loans.csv")


def test_name_of_another_method_is_refused():
    def make(task):
        return None

    with pytest.raises(NameTakenError, match="A method named 'KL' is already"):
        register_method(Method("KL", make))
    register_method(Method("Mine", make))
    register_method(Method("Mine", make))  # the same one
    assert methods.METHODS["Mine"].make is make
    with pytest.raises(ArgumentError, match="`method` must be a `Method`; got str"):
        register_method("KL")
    with pytest.raises(ArgumentError, match="must have a name, and `make` or `fit`"):
        register_method(Method("Nothing", None))

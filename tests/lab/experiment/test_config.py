"""A file is checked as a whole, and a mistake is told with its line."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairret.lab.experiment import ConfigError, list_runs, read_experiment
from fairret.training import TrainingSettings

GOOD = """\
# what to compare
datasets = ["synthetic", "bank"]
statistics = ["pr", "tpr"]
seeds = [0, 1, 2]

[training]
epochs = 30
learning_rate = 0.01

[[method]]
name = "Unfair"

[[method]]
name = "SmoothMax"
strengths = [0.1, 1]
"""
TRADE_OFFS = Path(__file__).parents[3] / "experiments" / "trade_offs.toml"


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "grid.toml"
        path.write_text(text, encoding="utf-8")
        return read_experiment(path)

    return read


def test_file_is_read_and_the_rest_is_as_in_the_paper(read):
    found = read(GOOD)
    assert found.name == "grid"
    assert found.datasets == ("synthetic", "bank")
    assert found.traits == ("all",)
    assert found.training == TrainingSettings(epochs=30, learning_rate=0.01)
    assert [grid.method.name for grid in found.methods] == ["Unfair", "SmoothMax"]
    assert [grid.strengths for grid in found.methods] == [(0.0,), (0.1, 1.0)]
    assert found.methods[1].options == {"sharpness": (1.0,), "memory": (0,)}


def test_published_experiment_is_valid():
    found = read_experiment(TRADE_OFFS)
    assert found.training == TrainingSettings()
    assert len(list_runs(found)) == 3 * (10 * (1 + 10 * (2 * 4 + 3)) + 3 * 10)


def test_single_values_stand_for_lists_of_one(read):
    text = GOOD.replace('["synthetic", "bank"]', '"bank"').replace("[0, 1, 2]", "4")
    text = text.replace("[0.1, 1]", "2\nsharpness = 3")
    found = read(text)
    assert (found.datasets, found.seeds) == (("bank",), (4,))
    assert found.methods[1].strengths == (2.0,)
    assert found.methods[1].options == {"sharpness": (3.0,), "memory": (0,)}


def test_lists_of_training_settings_are_axes(read):
    text = GOOD.replace("epochs = 30", "epochs = 30\nbatch = [32, 64]")
    text = text.replace("epochs = 30", "epochs = 30\nstratified = [false, true]")
    found = read(text)
    usual = TrainingSettings(epochs=30, learning_rate=0.01)
    assert found.trainings == tuple(
        replace(usual, stratified=stratified, batch=batch)
        for stratified in (False, True)
        for batch in (32, 64)
    )
    assert len(list_runs(found)) == 4 * len(list_runs(read(GOOD)))


def test_a_list_of_networks_is_an_axis(read):
    text = GOOD.replace("epochs = 30", "epochs = 30\nhidden = [[], [7], [9, 4]]")
    assert [one.hidden for one in read(text).trainings] == [(), (7,), (9, 4)]
    text = GOOD.replace("epochs = 30", "epochs = 30\nhidden = [9, 4]")
    assert [one.hidden for one in read(text).trainings] == [(9, 4)]


def test_duplicates_count_once(read):
    text = GOOD.replace("[0, 1, 2]", "[2, 0, 2]").replace('"tpr"', '"tpr", "pr"')
    text = text.replace("[0.1, 1]", "[1, 1.0, 0.1]")
    found = read(text)
    assert found.seeds == (2, 0)
    assert found.statistics == ("pr", "tpr")
    assert found.methods[1].strengths == (1.0, 0.1)


def test_whole_and_decimal_numbers_give_the_same_keys(read):
    text = GOOD.replace("0.01", "{lr}").replace("[0.1, 1]", "[{s}]\nsharpness = {s}")
    whole = list_runs(read(text.replace("{lr}", "1").replace("{s}", "2")))
    decimal = list_runs(read(text.replace("{lr}", "1.0").replace("{s}", "2.0")))
    assert [run.key for run in whole] == [run.key for run in decimal]


def test_stacks_are_named_in_one_way(read):
    found = read(GOOD.replace('"tpr"]', '"tpr + fpr", "tpr+fpr"]'))
    assert found.statistics == ("pr", "tpr+fpr")


WRONG = {
    "unknown key": ("seeds =", "seed =", 4, "`seed`.* mean 'seeds'"),
    "unknown key of training": ("epochs", "epoch", 7, "`training.epoch`.* 'epochs'"),
    "unknown key of a method": ("strengths", "strength", 15, "`method.strength`.*'st"),
    "option of another method": ("strengths", "gradient", 15, "`method.gradient`"),
    "unknown dataset": ('"bank"', '"bnk"', 2, "got 'bnk'.* mean 'bank'"),
    "unknown statistic": ('"tpr"', '"trp"', 3, "got 'trp'.* mean 'tpr'"),
    "statistic with settings": ('"tpr"', '"cpr"', 3, "needs no settings"),
    "half a stack": ('"tpr"', '"tpr+"', 3, "got ''"),
    "unknown method": ('"SmoothMax"', '"smoothmx"', 14, "mean 'SmoothMax'"),
    "method in small letters": ('"Unfair"', '"unfair"', 11, "mean 'Unfair'"),
    "no name": ('name = "SmoothMax"', "", 13, "`name` must name the method; got None"),
    "no strengths": ("strengths = [0.1, 1]", "", 13, "`strengths` .* got None"),
    "negative strength": ("[0.1, 1]", "[0.1, -1]", 15, "of at least 0; got .*-1"),
    "infinite strength": ("[0.1, 1]", "[inf]", 15, "be finite numbers"),
    "strength as text": ("[0.1, 1]", '["1"]', 15, "be finite numbers"),
    "strength as truth": ("[0.1, 1]", "true", 15, "be finite numbers"),
    "empty strengths": ("[0.1, 1]", "[]", 15, "be finite numbers"),
    "strength of no term": ('fair"', 'fair"\nstrengths = 1', 12, "be left out"),
    "negative sharpness": ("[0.1, 1]", "1\nsharpness = -1", 16, "be positive numbers"),
    "statistic of no file": (
        "[0.1, 1]",
        '1\nstatistics = "ppv"',
        16,
        "the file: pr, t",
    ),
    "other dataset": ("[0.1, 1]", '1\ndatasets = "lawschool"', 16, "file: synth"),
    "other seed": ("[0.1, 1]", "1\nseeds = [2, 3]", 16, "file: 0, 1, 2; got 2, 3"),
    "seed as text": ("[0.1, 1]", '1\nseeds = "2"', 16, "be a list of whole numbers"),
    "patience without rows": ("0.01", "0.1\npatience = 3", 9, "without `validation`"),
    "negative patience": ("0.01", "0.1\npatience = -3", 9, "at least 0; got -3"),
    "no dataset": ("[0.1, 1]", "1\ndatasets = 3", 16, "be a list of texts"),
    "no statistic": ("[0.1, 1]", "1\nstatistics = []", 16, "be a list of texts"),
    "statistics of none": ('fair"', 'fair"\nstatistics = "pr"', 12, "has no statistic"),
    "misspelt statistic": ("[0.1, 1]", '1\nstatistics = "trp"', 16, "mean 'tpr'"),
    "unknown traits": ("seeds", 'traits = "sngle"\nseeds', 4, "mean 'single'"),
    "decimal seed": ("[0, 1, 2]", "[0, 1.5]", 4, "at least one int; got .*1.5"),
    "negative seed": ("[0, 1, 2]", "[-1]", 4, "at least 0"),
    "seed beyond what fits": ("[0, 1, 2]", "[0, 9223372036854775808]", 4, "below 429"),
    "no seeds": ("[0, 1, 2]", "[]", 4, "at least one int"),
    "epochs as text": ("30", '"30"', 7, "`epochs` must be of type int; got '30'"),
    "no epochs": ("30", "0", 7, "`epochs` must be at least 1"),
    "epochs that are warm-up": ("30", "20", 7, "`epochs` must be above `warm_up`, 20"),
    "rate of zero": ("0.01", "0", 8, "`learning_rate` must be a positive"),
    "wrong sizes": ("0.01", "0.01\nhidden = [8, 0]", 9, "`hidden` must be a list"),
    "one size": ("0.01", "0.01\nhidden = 8", 9, "`hidden` must be of type list; got 8"),
    "validation of all": ("0.01", "0.1\nvalidation = 1", 9, "below 1; got 1"),
    "name as number": ("datasets", "name = 3\ndatasets", 2, "`name` must be a text"),
    "unknown table": ("[[method]]", "[[methods]]", 10, "`methods`.* mean 'method'"),
    "training as number": ("[training]\nepochs", "training", 6, "be a table"),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistake_is_told_with_its_line_and_the_nearest_name(case, read):
    old, new, line, words = WRONG[case]
    text = GOOD.replace(old, new, 1)
    if case == "training as number":
        text = text.replace("learning_rate = 0.01\n", "")
    with pytest.raises(ConfigError, match=rf"^grid\.toml, line {line}: .*{words}"):
        read(text)


LOOPLESS = ("SmoothMax 0.1.3", "KL 0.1.3", "ExponentiatedGradient")
PUBLISHED = sorted(TRADE_OFFS.parent.glob("*.toml"))
EQUAL = [path for path in PUBLISHED if path.stem.startswith(("trade_offs", "single"))]


@pytest.mark.parametrize("path", EQUAL, ids=lambda path: path.stem)
def test_compared_methods_have_equally_many_strengths(path):
    grids = read_experiment(path).methods
    counts = {len(grid.strengths) for grid in grids if not grid.method.plain}
    assert counts == {10}


SETTINGS = ("validation = 0.2", "stratified = [false, true]")


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("method", LOOPLESS)
def test_setting_that_a_method_would_ignore_is_refused(method, setting, read):
    text = GOOD.replace("SmoothMax", method)
    assert list_runs(read(text))
    words = rf"line 15: `name` must .* knows `(validation|stratified)`; got '{method}'"
    with pytest.raises(ConfigError, match=words):
        read(text.replace("epochs = 30", f"epochs = 30\n{setting}"))


def test_method_that_trains_in_our_loop_takes_all_settings(read):
    text = GOOD.replace("SmoothMax", "OxonFair")
    text = text.replace(
        "epochs = 30", "epochs = 30\nvalidation = 0.2\nstratified = true\npatience = 4"
    )
    found = read(text).training
    assert found.stratified
    assert found.patience == 4


def test_method_has_some_of_the_seeds(read):
    runs = list_runs(read(GOOD + "seeds = 2\n"))
    seeds = {(run.method, run.seed) for run in runs}
    unfair = {("Unfair", seed) for seed in range(3)}
    assert seeds == {*unfair, ("SmoothMax", 2)}


def test_method_without_a_statistic_of_its_own_is_told(read):
    text = GOOD.replace("SmoothMax", "ExponentiatedGradient")
    assert list_runs(read(text.replace('["pr", "tpr"]', '["ppv", "tpr"]')))
    words = r"line 3: `statistics` .* ExponentiatedGradient .*: pr, tpr; got ppv\. Add"
    with pytest.raises(ConfigError, match=words):
        read(text.replace('["pr", "tpr"]', '"ppv"'))


@pytest.mark.parametrize("key", ["datasets", "statistics", "seeds"])
def test_missing_key_is_told_by_name(key, read):
    lines = [line for line in GOOD.splitlines() if not line.startswith(key)]
    with pytest.raises(ConfigError, match=rf"^grid\.toml: `{key}` must be a list"):
        read("\n".join(lines))


def test_key_below_a_table_is_told_where_it_stands(read):
    with pytest.raises(ConfigError, match=r"line 16: unknown key `method\.traits`"):
        read(GOOD + 'traits = "all"\n')


def test_names_elsewhere_do_not_mislead(read):
    text = 'name = "bnk"\n' + GOOD.replace('"bank"', '"bnk"')
    with pytest.raises(ConfigError, match="line 3: `datasets`"):
        read(text)
    text = GOOD.replace("[0.1, 1]", "1") + '[[method]]\nname = "KL"\nstrengths = -3'
    with pytest.raises(ConfigError, match="line 18: `strengths`"):
        read(text)


@pytest.mark.parametrize("methods", ["", "method = 3", "[method]\nname = 'KL'"])
def test_methods_are_a_list_of_tables(methods, read):
    text = GOOD.split("[training]")[0] + methods
    with pytest.raises(ConfigError, match=r"`method` must be given at least once"):
        read(text)
    with pytest.raises(ConfigError, match=r"`method` must be tables.* got 'KL'"):
        read(GOOD.split("[training]")[0] + 'method = ["KL"]')


def test_tables_in_one_line_are_found_too(read):
    top = GOOD.split("[training]")[0] + "training = {epoch = 3}\n"
    with pytest.raises(ConfigError, match=r"line 6: unknown key `training\.epoch`"):
        read(top + GOOD[GOOD.index("[[") :])


def test_file_that_is_not_there_or_not_toml_is_told(read, tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.toml cannot be read \(No such"):
        read_experiment(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match=r"grid\.toml is not \(.*line 2"):
        read("seeds = [1]\nseeds : 2")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ConfigError, match=r"latin\.toml is not .* Save it as UTF-8"):
        read_experiment(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    "text",
    [
        "seeds = " + "[" * 3000 + "]" * 3000,
        "seeds = " + "{a = " * 3000 + "1" + "}" * 3000,
        GOOD.replace("seeds", "seeds." + ".".join("a" * 3000)),
    ],
    ids=["lists", "tables", "dotted"],
)
def test_file_nested_thousands_deep_is_told_in_a_sentence(read, text):
    with pytest.raises(
        ConfigError, match=r"must not nest values this deep; grid\.toml"
    ):
        read(text)


def test_number_of_thousands_of_digits_is_told_in_a_sentence(read):
    with pytest.raises(ConfigError, match=r"`file` must be TOML; .*digits"):
        read(GOOD.replace("[0, 1, 2]", "9" * 5000))


def test_readme_counts_the_runs_of_the_main_file():
    readme = (TRADE_OFFS.parents[1] / "README.md").read_text(encoding="utf-8")
    assert f"({len(list_runs(read_experiment(TRADE_OFFS))):,} runs here)" in readme

"""From a table to a model file, and from the model file to decisions."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairret.cli.app import app
from fairret.cli.saved import read_model
from fairret.cli.table import CsvFormat, read_table

pytest.importorskip("sklearn")
pytest.importorskip("skops")
load = pytest.importorskip("fairret.estimator").load

pytestmark = pytest.mark.slow  # fits many models

USUAL = ("--label", "hired", "--sensitive", "sex", "--drop", "id", "--folds", "2")
OUTPUT = ("--model", "model.skops", "--report", "report.html")


def applicants(n, seed=0):
    """People whose codes are text that looks like numbers, but for one."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    code = rng.choice(["1", "02", "x"], n, p=[0.5, 0.4, 0.1])
    z = rng.normal(size=n) + (sex == "m") + 1.5 * (code == "02")
    hired = np.where(z + 0.5 * rng.logistic(size=n) > 1, "yes", "no")
    seen = {"skill": z.round(3), "code": code, "sex": sex, "hired": hired}
    return pd.DataFrame({"id": [f"p{k}" for k in range(n)], **seen})


def call(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a model, its page, and what the command printed."""
    folder = tmp_path_factory.mktemp("fit")
    table = applicants(900)
    table.loc[4, "hired"] = None
    table.to_csv(folder / "train.csv", index=False)
    outputs = [x if x[0] == "-" else folder / x for x in OUTPUT]
    result = call("fit", folder / "train.csv", *USUAL, *outputs)
    assert result.exit_code == 0, result.stderr
    return folder, result


@pytest.fixture
def folder(tmp_path, monkeypatch):
    applicants(400).to_csv(tmp_path / "train.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_fit_reports_certifies_and_shows_the_curve(fitted):
    folder, result = fitted
    assert "1 of 900 rows have no label" in result.stdout
    assert "A yes is 'yes', a no is 'no'." in result.stdout
    assert "The tolerance (max_violation 0.1) is met on the fit rows" in result.stdout
    assert "With 95% confidence, the largest violation (pr)" in result.stdout
    curve = [x.split()[0] for x in result.stdout.splitlines() if x.strip()]
    assert {"plain", "blind", "informed"} <= set(curve)
    assert "Model written to" in result.stderr
    page = (folder / "report.html").read_text()
    assert "without the rule" in page
    assert "with the rule" in page


def test_predict_decides_like_the_classifier_in_python(fitted, tmp_path):
    folder, _ = fitted
    new = applicants(50, seed=1)
    new = new[new["code"] != "x"].drop(columns=["hired", "sex"])  # looks like numbers
    new.to_csv(tmp_path / "new.csv", index=False)
    output = tmp_path / "decisions.csv"
    result = call(
        "predict", folder / "model.skops", tmp_path / "new.csv", "--output", output
    )
    assert result.exit_code == 0, result.stderr
    found = pd.read_csv(output, dtype={"code": str})
    pd.testing.assert_frame_equal(found[list(new)], new.reset_index(drop=True))
    classifier = read_model(folder / "model.skops").classifier
    expected = classifier.predict(new[["skill", "code"]])
    assert found["decision"].tolist() == expected.tolist()
    assert ((found["margin"] > 0) == (found["decision"] == "yes")).all()
    assert f"{len(new)} decisions written" in result.stderr


def test_model_of_the_command_decides_in_python_too(fitted):
    path = fitted[0] / "model.skops"
    new = applicants(50, seed=1)[["skill", "code"]]
    expected = read_model(path).classifier.predict(new)
    assert load(path).predict(new).tolist() == expected.tolist()


def test_cells_are_copied_as_they_are_written(fitted, tmp_path):
    lines = ["skill,code,zip,note", "1.50,02,007,NA", "0.10,1,12345678901234567890,"]
    (tmp_path / "new.csv").write_text("\n".join(lines) + "\n")
    model, output = fitted[0] / "model.skops", tmp_path / "out.csv"
    result = call("predict", model, tmp_path / "new.csv", "--output", output)
    assert result.exit_code == 0, result.stderr
    copied = [x.rsplit(",", 2)[0] for x in output.read_text().splitlines()]
    assert copied == lines


def test_values_that_the_model_does_not_know_are_counted(fitted, tmp_path):
    (tmp_path / "new.csv").write_text("skill,code\n1.5,02\n0.5,new\n0.5,\n")
    model, output = fitted[0] / "model.skops", tmp_path / "out.csv"
    result = call("predict", model, tmp_path / "new.csv", "--output", output)
    assert result.stderr.startswith("Note: 1 of 3 rows have a 'code' that is new")


def test_models_saved_in_python_and_earlier_decide_too(fitted, tmp_path):
    from fairret.estimator import save
    from fairret.estimator.saving import to_bytes

    own = read_model(fitted[0] / "model.skops")
    save(own.classifier, tmp_path / "python.skops")
    earlier = {"classifier": own.classifier, "kinds": own.kinds, "fairret": "0.2.0"}
    (tmp_path / "earlier.skops").write_bytes(to_bytes(earlier))
    for name in ("python.skops", "earlier.skops"):
        assert read_model(tmp_path / name).kinds == own.kinds


def test_codes_of_new_people_are_text_even_if_all_look_like_numbers(fitted, tmp_path):
    folder, _ = fitted
    kinds = read_model(folder / "model.skops").kinds
    assert kinds == {"skill": "number", "code": "text"}
    path = tmp_path / "new.csv"
    path.write_text("skill;code\n1.5;02\n0.5;1\n")
    table = read_table(path, CsvFormat(), kinds)
    assert table.frame["code"].tolist() == ["02", "1"]


def test_informed_models_need_the_traits_of_new_people(folder):
    fit = call("fit", "train.csv", *USUAL, "--informed", "--model", "model.skops")
    assert fit.exit_code == 0, fit.stderr
    applicants(20).drop(columns="sex").to_csv("new.csv", index=False)
    result = call("predict", "model.skops", "new.csv", "--output", "out.csv")
    assert result.exit_code == 2
    assert "needs columns that new.csv does not have: 'sex'" in result.stderr
    assert not Path("out.csv").exists()
    whole = call("predict", "model.skops", "train.csv", "--output", "out.csv")
    assert whole.exit_code == 0, whole.stderr
    assert len(pd.read_csv("out.csv")) == 400
    assert "Note" not in whole.stderr
    applicants(20).assign(sex="W").to_csv("new.csv", index=False)
    other = call("predict", "model.skops", "new.csv", "--output", "out.csv")
    assert "20 of 20 people have a 'sex' that the fit did not have" in other.stderr


WRONG = [
    (("--label", "hird", *USUAL[2:]), "Did you mean 'hired'"),
    ((*USUAL[:2], "--sensitive", "Sex"), "`--sensitive` names the column 'Sex'"),
    ((*USUAL, "--drop", "nobody"), "`--drop` names the column 'nobody'"),
    ((*USUAL, "--notion", "tpt"), "tpr"),
    ((*USUAL, "--max-violation", "10"), "Did you mean 0.10?"),
    ((*USUAL, "--max-violation", "0.1", "--min-ratio", "0.8"), "max_violation and"),
    ((*USUAL, "--positive", "maybe"), "`--positive` must be one of the labels"),
    ((*USUAL, "--model", "model.pkl"), "`--model` must end in .skops"),
    ((*USUAL, "--model", "no/model.skops"), "folder that exists"),
    ((*USUAL, "--report", "train.csv"), "another file than the input"),
    (("--label", "skill", "--sensitive", "sex"), "Only binary classification"),
    (("--label", "code", "--sensitive", "sex"), "Only binary classification"),
    (("--label", "sex", "--sensitive", "code"), "`--positive` must say which label"),
    (("--label", "sex", "--sensitive", "sex", "--positive", "f"), "different columns"),
    ((*USUAL, "--weight", "code"), "`--weight` must be a column of numbers"),
    ((*USUAL, "--folds", "300"), "n_splits"),
    ((*USUAL, "--delimiter", ";;"), "`delimiter` must be a single ASCII character"),
    ((*USUAL, "--min-ratio", "1.5"), "For example, pass 0.8 for four fifths"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_options_are_told_in_one_line_and_nothing_is_written(
    folder, options, message
):
    before = (folder / "train.csv").read_bytes()
    result = call("fit", "train.csv", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["train.csv"]
    assert (folder / "train.csv").read_bytes() == before


def test_two_columns_of_one_name_are_refused(folder):
    text = (folder / "train.csv").read_text()
    (folder / "train.csv").write_text(text.replace("skill", "code", 1))
    result = call("fit", "train.csv", *USUAL)
    assert "train.csv has two columns 'code'" in result.stderr


def test_a_group_alone_is_not_certified(folder):
    table = pd.read_csv("train.csv")
    table["sex"] = ["m"] * 380 + ["f"] * 20
    table.to_csv("train.csv", index=False)
    result = call("fit", "train.csv", *USUAL)
    assert result.exit_code == 2
    assert "Only sex=m has the 30 counted rows" in result.stderr


def test_strict_leaves_small_groups_no_room(folder):
    wide = call("fit", "train.csv", *USUAL, "--max-violation", "0.02")
    assert "have a wider one, which chance explains" in wide.stdout
    strict = call("fit", "train.csv", *USUAL, "--max-violation", "0.02", "--strict")
    assert "have a wider one, which chance explains" not in strict.stdout


def test_a_full_disk_leaves_nothing_half_written(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fairret.auditing.report.os.replace", full)
    result = call("fit", "train.csv", *USUAL, *OUTPUT)
    assert result.exit_code == 2
    assert "No space left" in result.stderr
    assert [path.name for path in folder.iterdir()] == ["train.csv"]


class Evil:
    def __reduce__(self):
        return (print, ("run",))


@pytest.mark.parametrize("kind", ["pickle", "text", "other object"])
def test_files_of_others_are_not_run(kind, folder, capsys):
    import skops.io

    content = {
        "pickle": pickle.dumps(Evil()),
        "text": b"hello",
        "other object": skops.io.dumps({"classifier": Evil()}),
    }[kind]
    (folder / "model.skops").write_bytes(content)
    result = call("predict", "model.skops", "train.csv", "--output", "out.csv")
    assert result.exit_code == 2
    assert result.stderr.startswith("fairret: model.skops ")
    assert result.stderr.count("\n") == 1
    assert "run" not in capsys.readouterr().out
    assert not Path("out.csv").exists()


def test_columns_of_the_input_are_never_replaced(fitted, folder):
    table = applicants(9).assign(decision=1)
    table.to_csv("new.csv", index=False)
    model = fitted[0] / "model.skops"
    result = call("predict", model, "new.csv", "--output", "out.csv")
    assert result.exit_code == 2
    assert "has a column 'decision' already. Pass another `--name`." in result.stderr
    same = call("predict", model, "new.csv", "--output", "out.csv", "--name", "margin")
    assert "`--name` must not be 'margin'" in same.stderr
    named = call("predict", model, "new.csv", "--output", "out.csv", "--name", "d")
    assert named.exit_code == 0
    assert list(pd.read_csv("out.csv"))[-2:] == ["d", "margin"]

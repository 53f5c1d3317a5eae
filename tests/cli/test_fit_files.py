"""Files in other forms, columns that look like others, and what to do about them."""

import json
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fairret.cli import main
from fairret.cli.app import app
from fairret.cli.columns import describe_columns, describe_traits
from fairret.cli.saved import read_model
from fairret.cli.table import CsvFormat, copy_table, read_table
from fairret.errors import FairretError

pytest.importorskip("sklearn")
pytest.importorskip("skops")

N = 600
LOAN = ("--label", "loan", "--positive", "bewilligt", "--folds", "2", "--seed", "1")


def applicants(n=N, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Männer", "Frauen"], n)
    z = rng.normal(size=n) + 0.8 * (sex == "Männer")
    loan = np.where(z + 0.5 * rng.logistic(size=n) > 0.4, "bewilligt", "abgelehnt")
    return pd.DataFrame(
        {
            "income": (z + 5).round(4),
            "plz": rng.integers(10000, 99999, 40)[rng.integers(40, size=n)],
            "age": rng.integers(18, 70, n),
            "sex": sex,
            "loan": loan,
        }
    )


def call(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    applicants().to_csv(tmp_path / "train.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FORMS = {
    "latin-1": ({"encoding": "latin-1"}, CsvFormat(encoding="latin-1")),
    "utf-16": ({"encoding": "utf-16"}, CsvFormat()),
    "decimal comma": ({"sep": ";", "decimal": ","}, CsvFormat(decimal=",")),
    "compressed": ({"compression": "gzip"}, CsvFormat()),
    "tabs": ({"sep": "\t", "encoding": "utf-8-sig"}, CsvFormat("\t")),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_is_the_same_in_every_form(form, tmp_path):
    options, written = FORMS[form]
    path = tmp_path / ("t.csv.gz" if form == "compressed" else "t.csv")
    applicants(30).to_csv(path, index=False, **options)
    found = read_table(path, written).frame
    pd.testing.assert_frame_equal(found, applicants(30), check_dtype=False)
    cells = copy_table(path, written)
    assert cells["sex"].tolist() == applicants(30)["sex"].tolist()


def test_codes_are_text_in_parquet_files_too(tmp_path):
    applicants(30).to_parquet(tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet", CsvFormat(), {"plz": "text"}).frame
    assert frame["plz"].tolist() == [str(x) for x in applicants(30)["plz"]]


CELLS = {  # as written, and as read
    "text": (["NA", "EU", "None", "", " ", "?"], ["NA", "EU", "None", *3 * [None]]),
    "numbers": (["1.5", "NA", "", " ", "null", "?"], [1.5, *5 * [None]]),
    "commas": (["1,5", "NA", "", " ", "null", "?"], [1.5, *5 * [None]]),
    "codes": (["01", "NA", "", " ", "02", "?"], ["01", "NA", None, None, "02", None]),
    "truth": (["True", "FALSE", "", "?", "", ""], [True, False, *4 * [None]]),
    "truth or NA": (["True", "", "NA", "", "", ""], ["True", None, "NA", *3 * [None]]),
}


@pytest.mark.parametrize("column", CELLS)
def test_only_empty_cells_and_named_words_are_missing_in_text(column, tmp_path):
    cells, values = CELLS[column]
    lines = [f'{column};"{cell}";x' for cell in cells]
    (tmp_path / "t.csv").write_text("\n".join(["a;b;c", *lines]))
    decimal = "," if column == "commas" else "."
    kinds = {"b": "text"} if column == "codes" else None
    written = CsvFormat(decimal=decimal, missing=("?",))
    found = read_table(tmp_path / "t.csv", written, kinds).frame["b"]
    assert found.astype(object).where(found.notna(), None).tolist() == values


def test_words_that_mean_missing_do_so_in_parquet_files_too(tmp_path):
    text = ["NA", "1", "?", ""]
    kind = pd.Categorical(text)
    table = pd.DataFrame({"text": text, "number": [1, 2, -9, 4], "kind": kind})
    table.to_parquet(tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet", CsvFormat(missing=("?", "-9"))).frame
    assert frame["text"].tolist()[:2] == ["NA", "1"]
    assert frame["number"].tolist()[:2] == [1, 2]
    assert frame["kind"].tolist()[:2] == ["NA", "1"]
    assert frame.isna().sum().tolist() == [2, 1, 2]


def test_groups_are_those_of_an_audit_and_people_in_none_are_counted(folder):
    table = applicants()
    region = np.where(table["sex"] == "Frauen", "NA", "EU").astype(object)
    region[:50] = ""
    table.assign(region=region, score=0.5).to_csv("t.csv", index=False)
    fit = call("fit", "t.csv", *LOAN, "--sensitive", "region", "--model", "m.skops")
    assert "Note: 50 of 600 rows have no 'region'; they are in none" in fit.stdout
    columns = ("--score", "score", "--sensitive", "region", "--json")
    audit = json.loads(call("audit", "t.csv", *columns).stdout)
    names = read_model(folder / "m.skops").classifier.encoder_.names
    assert names == ("region=EU", "region=NA")
    assert audit["settings"]["missing"] == {"region": 50}


WRONG = [
    ({"encoding": "latin-1"}, CsvFormat(), "pass it .`--encoding latin-1`."),
    ({}, CsvFormat(encoding="klingon"), "`encoding` must be the name of an encoding"),
    ({}, CsvFormat(decimal=";"), "`--decimal` must be a point or a comma"),
]


@pytest.mark.parametrize(("options", "written", "said"), WRONG)
def test_a_wrong_form_is_told_with_its_remedy(options, written, said, tmp_path):
    applicants(30).to_csv(tmp_path / "t.csv", index=False, **options)
    with pytest.raises(FairretError, match=said):
        read_table(tmp_path / "t.csv", written)


def test_numbers_of_another_form_are_refused(folder):
    applicants().to_csv("comma.csv", index=False, sep=";", decimal=",")
    comma = call("fit", "comma.csv", *LOAN, "--sensitive", "sex")
    assert comma.exit_code == 2
    assert "Column 'income' of comma.csv has numbers with commas" in comma.stderr
    assert "pass `--decimal ,`" in comma.stderr
    point = call("fit", "train.csv", *LOAN, "--sensitive", "sex", "--decimal", ",")
    assert "has numbers with points, such as '" in point.stderr


def test_codes_amounts_and_stray_words_are_noted():
    table = applicants().assign(
        debt=[*(str(k // 2) for k in range(N - 2)), "?", "?"], branch_id=range(N)
    )
    assert describe_columns(table[["income", "plz", "age"]]) == [
        "Note: read as amounts: 'plz'. If the numbers are codes, such as postal codes, "
        "pass `--category plz`."
    ]
    (words,) = describe_columns(table[["debt"]])
    assert words.startswith(
        "Note: 'debt' is read as 300 categories, because it has '?'"
    )
    year = table.assign(year=table["age"] + 1930)[["year"]]
    assert describe_columns(year) == []
    for who in (range(N), np.random.default_rng(2).permutation(N) + 7):
        assert describe_columns(table.assign(branch_id=who)[["branch_id"]]) == [
            "Note: every row has another 'branch_id'. If it identifies people, pass "
            "`--drop branch_id`."
        ]
    branch = table.assign(branch_id=[k // 2 for k in range(N)])[["branch_id"]]
    assert "pass `--category branch_id`" in describe_columns(branch)[0]
    assert describe_columns(table[["income"]].drop_duplicates()) == []
    (age,) = describe_traits(table[["sex", "age"]])
    assert age.startswith("Note: 'age' has more than 20 numbers and is compared as an")


def test_true_and_false_are_numbers_with_gaps_and_without(folder):
    table = applicants()
    owner = np.where(table["income"] > 5, "True", "False").astype(object)
    owner[::7] = ""
    table.assign(owner=owner).drop(columns="income").to_csv("t.csv", index=False)
    fit = call("fit", "t.csv", *LOAN, "--sensitive", "sex", "--model", "m.skops")
    assert fit.exit_code == 0, fit.stderr
    result = call("predict", "m.skops", "t.csv", "--output", "out.csv")
    assert result.exit_code == 0, result.stderr
    model = read_model(folder / "m.skops")
    assert model.kinds["owner"] == "number"
    frame = pd.read_csv("t.csv")
    expected = model.classifier.predict(frame[["plz", "age", "owner"]])
    assert pd.read_csv("out.csv")["decision"].tolist() == expected.tolist()
    table.assign(owner="maybe").to_csv("t.csv", index=False)
    other = call("predict", "m.skops", "t.csv", "--output", "out.csv")
    assert "'owner' of t.csv must hold numbers, as in the fit; got 'm" in other.stderr


def test_row_numbers_that_pandas_writes_are_noted(folder):
    table = applicants()
    table.loc[3, "loan"] = None  # rows that are left out are counted as well
    table.to_csv("t.csv")
    trait = ("--sensitive", "sex")
    fit = call("fit", "t.csv", *LOAN, *trait)
    assert (
        "Note: 'Unnamed: 0' looks like the row number that pandas writes. It is used "
        "as a feature; to leave it out, pass `--drop 'Unnamed: 0'`." in fit.stdout
    )
    assert "every row has another" not in fit.stdout
    dropped = call("fit", "t.csv", *LOAN, *trait, "--drop", "Unnamed: 0")
    assert "Unnamed" not in dropped.stdout


def test_labels_with_gaps_keep_their_names(folder):
    table = applicants(300)
    yes = table["loan"] == "bewilligt"
    for own, names in ((("1", "0"), [0, 1]), (("True", "False"), [False, True])):
        table["loan"] = np.where(yes, *own).astype(object)
        table.loc[3, "loan"] = ""
        table.to_csv("t.csv", index=False)
        options = ("--label", "loan", "--sensitive", "sex", "--folds", "2")
        fit = call("fit", "t.csv", *options, "--model", "m.skops")
        assert "Note: 1 of 300 rows have no label and are left out." in fit.stdout
        assert f"A yes is '{own[0]}', a no is '{own[1]}'." in fit.stdout
        new = call("predict", "m.skops", "t.csv", "--output", "out.csv")
        assert f"are '{own[0]}'" in new.stderr
        assert sorted(set(pd.read_csv("out.csv")["decision"])) == names


def test_bins_and_codes_make_groups(folder):
    traits = ("--sensitive", "age", "--bins", "age=30,50", "--sensitive", "sex")
    result = call(
        "fit", "train.csv", *LOAN, *traits, "--model", "m.skops", "--informed"
    )
    assert result.exit_code == 0, result.stderr
    assert "'plz'" in result.stdout
    model = read_model(folder / "m.skops")
    assert model.classifier.encoder_.names[:2] == ("age<30", "30<=age<50")
    assert model.kinds == {"income": "number", "plz": "number"}
    new = call("predict", "m.skops", "train.csv", "--output", "out.csv")
    assert new.exit_code == 0, new.stderr
    wrong = call("fit", "train.csv", *LOAN, "--sensitive", "sex", "--bins", "age=30")
    assert "`--bins` must be of a column that `--sensitive` names" in wrong.stderr


def test_decisions_of_predict_can_be_audited_in_their_words(folder):
    options = ("--sensitive", "sex", "--category", "plz", "--unfavourable")
    page = ("--model", "m.skops", "--report", "page.html")
    fit = call("fit", "train.csv", *LOAN, *options, *page)
    assert fit.exit_code == 0, fit.stderr
    assert "are flagged" in (folder / "page.html").read_text()
    assert read_model(folder / "m.skops").kinds["plz"] == "text"
    applicants(400, seed=1).to_csv("new.csv", index=False, sep=";", decimal=",")
    refused = call("predict", "m.skops", "new.csv", "--output", "out.csv")
    assert "has numbers with commas, such as" in refused.stderr
    assert "--category" not in refused.stderr
    new = ("new.csv", "--decimal", ",", "--output", "out.csv")
    assert call("predict", "m.skops", *new).exit_code == 0
    columns = ("--score", "decision", "--label", "loan", "--sensitive", "sex")
    audit = call("audit", "out.csv", *columns, "--positive", "bewilligt", "--json")
    assert audit.exit_code == 0, audit.stderr
    assert '"positive": "bewilligt"' in audit.stdout
    unclear = call("audit", "out.csv", *columns)
    assert unclear.exit_code == 2
    assert "--positive VALUE" in unclear.stderr


KINDS = {  # of a trait: values of the fit, and the same ones as another file has them
    "codes": (["01067", "99084"], None, ("--category", "kind")),
    "numbers": (["1", "2"], ["1.0", " 2"], ()),
    "text": (["1", "2", "unknown"], None, ()),
    "truth": (["True", "False"], ["TRUE", "false"], ()),
    "truth with gaps": (["True", "False", ""], None, ()),
    "bins": (["20", "40", ""], ["20.0", "40"], ("--bins", "kind=30")),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_only_people_with_a_new_value_are_strangers(kind, folder):
    own, other, options = KINDS[kind]
    table = applicants().drop(columns=["plz", "age"])
    men = table.pop("sex") == "Männer"
    table["kind"] = np.where(men, own[0], own[1]).astype(object)
    table.loc[:40, "kind"] = own[-1]
    table.to_csv("t.csv", index=False)
    traits = ("--sensitive", "kind", *options, "--informed")
    fit = call("fit", "t.csv", *LOAN, *traits, "--model", "m.skops")
    assert fit.exit_code == 0, fit.stderr

    def decide(frame):
        frame.to_csv("new.csv", index=False)
        result = call("predict", "m.skops", "new.csv", "--output", "out.csv")
        assert result.exit_code == 0, result.stderr
        return pd.read_csv("out.csv")["decision"].to_numpy(), result.stderr

    expected, said = decide(table)
    assert "Note" not in said
    assert "did not have" not in said
    if other is not None:
        again = table.replace({"kind": dict(zip(own, other, strict=False))})
        found, said = decide(again)
        assert found.tolist() == expected.tolist()
        assert "did not have" not in said
    kept = table["kind"] != "unknown"  # the word that makes a column text
    new, expected = table[kept].reset_index(drop=True), expected[kept]
    found, said = decide(new)
    assert found.tolist() == expected.tolist()
    assert "did not have" not in said
    if kind != "bins":
        new.loc[0, "kind"] = "new"
        found, said = decide(new)
        assert found[1:].tolist() == expected[1:].tolist()
        assert f"1 of {len(new)} people have a 'kind' that the fit did not" in said


def test_tolerance_that_cannot_be_assured_has_the_code_of_a_missed_one(folder):
    strict = ("--confidence", "0.99", "--max-violation", "0.01")
    outputs = ("--model", "m.skops", "--report", "page.html")
    result = call("fit", "train.csv", *LOAN, "--sensitive", "sex", *strict, *outputs)
    assert result.exit_code == 1
    assert "cannot be assured with 99% confidence" in result.stderr
    assert result.stderr.endswith("Nothing was written.\n")
    assert [path.name for path in folder.iterdir()] == ["train.csv"]


def test_ctrl_c_ends_without_a_traceback(monkeypatch, capsys):
    """It may come while the command is imported, or while it runs."""

    def interrupt():
        raise KeyboardInterrupt

    for module in (SimpleNamespace(app=interrupt), Interrupted("app")):
        monkeypatch.setitem(sys.modules, "fairret.cli.app", module)
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 130
    assert capsys.readouterr().err == ""


class Interrupted(ModuleType):
    """A module that is interrupted while names are imported from it."""

    def __getattr__(self, name):
        raise KeyboardInterrupt

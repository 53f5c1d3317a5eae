"""Bad input: one message on standard error, no traceback, exit code 2."""

import gzip
import os
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import fairret
from fairret.auditing import amounts
from fairret.cli.app import app
from fairret.errors import (
    ArgumentError,
    DataFileError,
    DtypeError,
    FairretError,
    MissingExtraError,
    NameNotFoundError,
    RangeError,
    ShapeError,
)
from fairret.sensitive import Continuous, Intersection
from fairret.statistic import ConditionalPositiveRate
from people import people
from processes import finish, start_anew

N = 211
FRAME = people(N)
BASE = {"score": "p", "label": "y", "sensitive": "sex"}


def csv(**columns):
    return FRAME.assign(**columns).to_csv(index=False)


def with_row(row, frame=FRAME[["y", "p", "sex"]]):
    return frame.to_csv(index=False) + row


# content of the file, options instead of the usual ones, message
FILES = {
    "missing column": (
        csv(),
        ["--score", "pp"],
        r"`score` must name.*Did you mean 'p'",
    ),
    "missing trait": (csv(), ["--sensitive", "rase"], r"Did you mean 'race'\?"),
    "missing label": (csv(), ["--label", "Y1"], "got 'Y1', and there are 'y', 'p'"),
    "three labels": (csv(y=np.arange(N) % 3), [], "must be 0 or 1.* '0', '1', '2'"),
    "words as labels": (csv(y=["in", "out", "in"] * 70 + ["in"]), [], "'in', 'out'"),
    "amounts as labels": (csv(y=FRAME["age"]), [], "`label` must have two values"),
    "positive that is none": (csv(), ["--positive", "2"], "`positive` must be a value"),
    "score above 1": (csv(p=FRAME["p"] + 0.5), [], r"must lie in \[0, 1\].*--logits"),
    "score below 0": (csv(p=FRAME["p"] - 0.5), [], r"must lie in \[0, 1\]"),
    "infinite logit": (csv(p=np.inf), ["--logits"], "`score` must be finite"),
    "text as score": (csv(p="high"), [], "`score` must.*column 'p'.*--positive VALUE"),
    "text among scores": (
        csv(p=["0.3"] * 210 + ["high"]),
        [],
        "Column 'p' of bad.csv must.*'high'",
    ),
    "no score at all": (csv(p=None), [], "211 have no score"),
    "no trait at all": (csv(sex=None), [], "'sex' has none in any of the 211 rows"),
    "identifier as trait": (
        "y,p,sex\n" + "".join(f"{k % 2},0.5,id{k}\n" for k in range(10_000)),
        [],
        r"at most 100 categories.*10000 or more",
    ),
    "empty file": ("", [], "bad.csv is empty"),
    "blank file": ("\n\n", [], "there are none"),
    "header alone": ("y,p,sex\n", [], "at least one row; bad.csv has none"),
    "header without a line end": ("y,p,sex", [], "bad.csv cannot be read"),
    "row too short": (with_row("1,0.5\n"), [], "Row #213: Expected 3 columns, got 2"),
    "row too long": (with_row("1,0.5,f,4\n"), [], "Expected 3 columns, got 4"),
    "not UTF-8": (with_row("1,0.5,é\n").encode("latin1"), [], "invalid UTF8"),
    "half a character of UTF-16": (
        with_row("").encode("utf-16") + b"x",
        [],
        "cannot be read .*utf-16.* truncated data",
    ),
    "names joined with commas": (
        csv(),
        ["--sensitive", "sex, race"],
        r"repeat the option: `--sensitive sex --sensitive race`.*\['sex', 'race'\]",
    ),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), [], "must name a column"),
    "two columns of a name": ("y,p,p,sex\n1,0,0,f\n", [], "has 2 times"),
    "negative weight": (
        csv(w=FRAME["w"] - 1),
        ["--weight", "w"],
        "`weight` must be fin",
    ),
    "weight as text": (csv(w="heavy"), ["--weight", "w"], "Column 'w' .*'heavy'"),
    "unknown notion": (csv(), ["--notion", "tprr"], "(?i)tpr"),
    "gate without notions": (
        csv(),
        ["--fail-above", "0.2"],
        "A gate must name its notions.*cannot all hold at once",
    ),
    "ratio of zero": (
        csv(),
        ["--min-ratio", "0", "--notion", "pr"],
        "`--min-ratio` must be a share between 0 and 1; got 0",
    ),
    "limit of nothing": (
        csv(),
        ["--fail-above", "nan", "--notion", "pr"],
        "`--max-violation` must be at least 0 and below 2; got nan",
    ),
    "limit without end": (
        csv(),
        ["--max-violation", "inf", "--notion", "pr"],
        "must be at least 0 and below 2; got inf",
    ),
    "limit below zero": (
        csv(),
        ["--max-difference", "-0.1", "--notion", "pr"],
        "`--max-difference` must be a share between 0 and 1; got -0.1",
    ),
    "limit in percent": (
        csv(),
        ["--max-violation", "20", "--notion", "pr"],
        r"got 20. Did you mean 0.20\?",
    ),
    "unknown mode": (
        csv(),
        ["--gate", "proof", "--max-violation", "0.2", "--notion", "pr"],
        "`--gate` must be one of evidence, assurance, estimate; got 'proof'",
    ),
    "report and output in one": (
        csv(),
        ["--report", "out.x", "--output", "./out.x"],
        "`--report` and `--output` must be two files; got out.x for both",
    ),
    "threshold": (csv(), ["--threshold", "1.5"], "`threshold` must be between 0 and 1"),
    "confidence": (
        csv(),
        ["--confidence", "1"],
        "`confidence` must be between 0 and 1",
    ),
    "score as trait": (csv(), ["--sensitive", "p"], "must be different columns.*'p'"),
    "score as label": (csv(), ["--label", "p"], "`label` and `score`|`score` and `la"),
    "notions with a comma": (
        csv(),
        ["--notion", "tpr+fpr,pr"],
        "repeat the option: `--notion tpr[+]fpr --notion pr`",
    ),
    "confidence in percent": (
        csv(),
        ["--confidence", "95"],
        "`confidence` must be between 0 and 1; got 95.0. Did you mean 0.95[?]$",
    ),
    "threshold in percent": (csv(), ["--threshold", "50"], "Did you mean 0.50[?]$"),
    "bins of nothing": (csv(), ["--bins", "age"], "write `--bins age=30,50`"),
    "bins of another": (csv(), ["--bins", "age=3"], "columns that `sensitive` names"),
    "bins that fall": (csv(), ["--bins", "sex=3,2"], "numbers that increase"),
    "bins of text": (csv(), ["--bins", "sex=3"], "'sex' has '"),
    "crossed alone": (csv(), ["--intersect", "sex"], "at least two columns"),
    "crossed too far": (
        csv(),
        ["--intersect", "sex,race", "--min-size", "500", "--max-categories", "7"],
        "Lower",
    ),
    "no categories": (csv(), ["--max-categories", "0"], "at most 0 categories"),
    "delimiter": (
        csv(),
        ["--delimiter", ",,"],
        "`delimiter` must be a single ASCII char",
    ),
    "wrong delimiter": (
        csv(),
        ["--delimiter", ";"],
        "The header looks separated by ',': omit `delimiter`",
    ),
    "bins that are no numbers": (
        csv(),
        ["--bins", "sex=1,x"],
        "`--bins` must be a col",
    ),
}


def run(path, *options):
    usual = {"--score": "p", "--label": "y", "--sensitive": "sex"}
    given = [x for pair in usual.items() if pair[0] not in options for x in pair]
    return CliRunner().invoke(app, ["audit", str(path), *given, *options])


def assert_one_sentence(result, message):
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("fairret: ")
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    with pytest.raises(FairretError, match=message):
        raise FairretError(result.stderr)


@pytest.mark.parametrize("case", FILES)
def test_bad_input_is_told_in_one_sentence(case, tmp_path):
    content, options, message = FILES[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_one_sentence(run(path, *options), message)


def test_file_that_does_not_exist_has_near_names(tmp_path):
    (tmp_path / "people.csv").write_text("y\n")
    assert_one_sentence(run(tmp_path / "peopel.csv"), "Did you mean 'people.csv'")
    assert_one_sentence(run(tmp_path / "no" / "x.csv"), "which is not a file")
    assert_one_sentence(run(tmp_path), "which is not a file")


def test_truncated_files_are_told(tmp_path):
    FRAME.to_parquet(tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    for name, content in {
        "cut.parquet": whole[: len(whole) // 2],
        "cut.csv.gz": gzip.compress(csv().encode())[:-500],
        "false.csv.gz": csv().encode(),
    }.items():
        (tmp_path / name).write_bytes(content)
        assert_one_sentence(run(tmp_path / name), f"{name} cannot be read")
    damaged = bytearray(whole)
    damaged[40:900] = bytes(860)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    assert_one_sentence(run(tmp_path / "damaged.parquet"), "damaged.parquet cannot be")


def test_lists_in_parquet_are_told(tmp_path):
    table = pa.Table.from_pandas(FRAME).append_column("x", pa.array([[1]] * N))
    pa.parquet.write_table(table, tmp_path / "lists.parquet")
    result = run(tmp_path / "lists.parquet", "--sensitive", "x")
    assert_one_sentence(result, "Column 'x' of `data` must hold plain values")


def test_report_that_cannot_be_written_is_told(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    for option in ("--report", "--output"):
        for target, why in {
            tmp_path / "no" / "report.html": "report.html cannot be written",
            tmp_path: "is a folder",
        }.items():
            result = run(tmp_path / "people.csv", option, str(target))
            assert_one_sentence(result, why)


@pytest.mark.skipif(
    not getattr(os, "geteuid", int)(), reason="nothing is forbidden to root"
)
def test_file_that_may_not_be_read_is_told(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text(csv())
    path.chmod(0)
    assert_one_sentence(run(path), "Permission denied")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"data": [1, 2]}, DtypeError, "`data` must be a data frame.*got list"),
        ({"data": "people.csv"}, DataFileError, "which is not a file"),
        (
            {"data": {"y": [1], "p": [0.5], "sex": ["f", "m"]}},
            ShapeError,
            "same length",
        ),
        ({"data": pd.DataFrame({"y": [], "p": [], "sex": []})}, ShapeError, "one row"),
        ({"score": "q"}, NameNotFoundError, "`score` must name a column of `data`"),
        ({"sensitive": []}, ArgumentError, "`sensitive` must name at least one"),
        ({"notions": []}, ArgumentError, "`notions` must name at least one"),
        ({"label": None, "notions": ["tpr"]}, ArgumentError, "`label` is required by"),
        ({"intersections": ["sex"]}, ArgumentError, "sets of at least two columns"),
        ({"data": FRAME.assign(p="a")}, DtypeError, "`score` must hold numbers; .*'a'"),
        (
            {
                "data": FRAME.loc[FRAME.index.repeat(20)].assign(
                    age=np.arange(20 * N) + 10**8
                ),
                "sensitive": "age",
            },
            RangeError,
            "differ in their first 4 digits; all of 'age' begin like 100000000",
        ),
        ({"threshold": "0.5"}, DtypeError, "`threshold` must be a number"),
        (
            {"notions": [ConditionalPositiveRate("age")]},
            ArgumentError,
            "must depend on the label alone",
        ),
        (
            {"sensitive": [Intersection("sex", Continuous("age"))]},
            ArgumentError,
            "must be of groups; got Continuous",
        ),
    ],
)
def test_call_refuses_what_it_cannot_use(change, error, message):
    options = {**BASE, "data": FRAME, **change}
    with pytest.raises(error, match=message):
        fairret.audit(options.pop("data"), **options)


def test_missing_packages_are_told(monkeypatch, tmp_path):
    found = fairret.audit(FRAME, **BASE)
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="`to_frame` needs pandas"):
        found.to_frame()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="Reading files needs pyarrow"):
        fairret.audit(tmp_path / "people.csv", **BASE)


def test_column_of_too_many_different_numbers_is_told(monkeypatch):
    monkeypatch.setattr(amounts, "MOST_VALUES", 200)
    with pytest.raises(RangeError, match=r"at most 200 .*'age' has 211 or more"):
        fairret.audit(FRAME, **{**BASE, "sensitive": Continuous("age")})


RUNS = """
import os, sys
import fairret, fairret.auditing
for run in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        break
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 2:
        sys.exit(f"run {run} ended with {code}")
else:
    sys.exit(0)
try:
    fairret.audit(sys.argv[1], score="p", label="y", sensitive="sex")
except fairret.errors.FairretError:
    sys.exit(2)
"""


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="imports torch once for all runs")
@pytest.mark.parametrize("row", ["1,0.5\n", "1,0.5,é\n"])
def test_process_ends_in_order_after_a_broken_file(row, tmp_path):
    path = tmp_path / "bad.csv"
    lines = "".join(f"{k % 2},{k % 7 / 7},{'fm'[k % 2]}\n" for k in range(10**5))
    with path.open("w", encoding="latin1") as file:
        file.write("y,p,sex\n" + row)
        for _ in range(10):  # so that pyarrow still reads ahead when the audit stops
            file.write(lines)
    code, _, err = finish(start_anew(RUNS, path, 4))
    assert code == 0, err


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_pyarrow_reads_no_python_object(encoding, monkeypatch, tmp_path):
    # Its thread would outlive the interpreter, and abort: the cause of the test above.
    path = tmp_path / "people.csv"
    path.write_text(csv(), encoding=encoding)
    monkeypatch.setattr(pa, "PythonFile", None)
    assert fairret.audit(path, **BASE).settings.rows == N

"""Files as people have them: other delimiters, compressed, quoted, typed."""

import bz2
import gc
import gzip
import tempfile
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import fairret
from fairret.auditing import files
from people import people

N = 211
FRAME = people(N)[["y", "p", "sex"]]
TEXT = FRAME.to_csv(index=False)


def groups(path, column="sex", **options):
    """Tell the groups' names and sizes."""
    found = fairret.audit(
        path, score="p", label="y", sensitive=column, notions=["pr"], **options
    )
    return {
        name: group.count
        for name, group in found.results["pr"].decisions.groups.items()
    }


SIZES = {f"sex={k}": float(v) for k, v in FRAME["sex"].value_counts().items()}


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("semicolon.csv", TEXT.replace(",", ";"), {}),
        ("table.tsv", TEXT.replace(",", "\t"), {}),
        ("pipes.txt", TEXT.replace(",", "|"), {}),
        ("tilde.csv", TEXT.replace(",", "~"), {"delimiter": "~"}),
        ("windows.csv", TEXT.replace("\n", "\r\n"), {}),
        ("mac.csv", TEXT.replace("\n", "\r"), {}),
        ("blank_lines.csv", "\n\n" + TEXT + "\n\n", {}),
        ("excel.csv", "\ufeff" + TEXT, {}),
        ("no_line_end.csv", TEXT.rstrip("\n"), {}),
        ("notepad.csv", TEXT.encode("utf-16"), {}),
        ("big_end.csv", b"\xfe\xff" + TEXT.encode("utf-16-be"), {}),
        ("wide.csv", TEXT.encode("utf-32"), {}),
        ("packed_16.csv.gz", gzip.compress(TEXT.encode("utf-16")), {}),
        ("packed.csv.gz", gzip.compress(TEXT.encode()), {}),
        ("PACKED.CSV.GZ", gzip.compress(TEXT.encode()), {}),
        ("packed.csv.bz2", bz2.compress(TEXT.encode()), {}),
    ],
)
def test_text_is_read_however_it_was_written(name, content, options, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert groups(path, **options) == SIZES


@pytest.mark.parametrize("block", [1 << 9, 1 << 21])
@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        (["1", "2", "1.0", "2.0", "-1.50", "-1.5"], {"1": 80, "2": 80, "-1.5": 80}),
        (["1", "2", "1.0", "x"], {"1": 60, "2": 60, "1.0": 60, "x": 60}),
        (["1", "01", "1.0"], {"1": 80, "01": 80, "1.0": 80}),
        (["9007199254740993", "9007199254740992.0"], None),  # alike as floats
    ],
    ids=["numbers", "a word", "a code", "large"],
)
def test_numerals_of_one_number_are_one_group(
    codes, expected, block, tmp_path, monkeypatch
):
    """One kind of numeral comes after the other, so pieces of the file have one."""
    monkeypatch.setattr(files, "BLOCK", block)
    lines = [f"{code},{k % 2},1" for code in codes for k in range(240 // len(codes))]
    path = tmp_path / "codes.csv"
    path.write_text("\n".join(["code,p,y", *lines]))
    if expected is None:
        expected = {code.removesuffix(".0"): 120 for code in codes}
    assert groups(path, "code") == {f"code={k}": n for k, n in expected.items()}


def test_quoted_fields_may_hold_delimiters_quotes_and_line_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BLOCK", 1 << 9)
    names = {"f": "fe,male", "m": 'ma\nle "so called"; x'}
    frame = FRAME.assign(sex=FRAME["sex"].map(names))
    frame.to_csv(tmp_path / "quoted.csv", index=False)
    expected = {f"sex={names[key[-1]]}": size for key, size in SIZES.items()}
    assert groups(tmp_path / "quoted.csv") == expected


def test_quoted_header_does_not_mislead_the_delimiter(tmp_path):
    frame = FRAME.rename(columns={"sex": "sex; as told; by them;\nor not"})
    frame.to_csv(tmp_path / "header.csv", index=False)
    found = groups(tmp_path / "header.csv", frame.columns[2])
    assert list(found.values()) == [SIZES["sex=f"], SIZES["sex=m"]]


def test_column_names_need_not_be_english(tmp_path):
    frame = FRAME.assign(
        **{"Geschlecht (ü) = ♀": FRAME["sex"].map({"f": "ж", "m": ""})}
    )
    frame.to_csv(tmp_path / "ü.csv", index=False)
    found = groups(tmp_path / "ü.csv", "Geschlecht (ü) = ♀")
    assert found == {"Geschlecht (ü) = ♀=ж": SIZES["sex=f"]}  # blank is missing


K = np.arange(N) % 3
TYPES = {
    "whole": (pa.array(K.astype(np.int8)), ["0", "1", "2"]),
    "unsigned": (pa.array(K.astype(np.uint64)), ["0", "1", "2"]),
    "half": (pa.array((K / 2).astype(np.float16)), ["0", "0.5", "1"]),
    "decimal": (pa.array([Decimal(int(k)) / 4 for k in K]), ["0", "0.25", "0.5"]),
    "bool": (pa.array([bool(k) for k in K]), ["False", "True"]),
    "text": (pa.array([f"<{k}>" for k in K], pa.large_string()), ["<0>", "<1>", "<2>"]),
    "categories": (pa.array(list("zyx")).take(K).dictionary_encode(), ["x", "y", "z"]),
    "coded numbers": (pa.array(K * 9).dictionary_encode(), ["0", "9", "18"]),
    "day": (
        pa.array([date(2020, 5, 1 + k) for k in K]),
        [f"2020-05-0{k}" for k in (1, 2, 3)],
    ),
    "bytes": (pa.array([b"ab"[k % 2 : k % 2 + 1] for k in K]), ["a", "b"]),
    "nothing at times": (pa.array([None if k else "x" for k in K]), ["x"]),
}


@pytest.mark.parametrize("name", TYPES)
def test_columns_of_parquet_may_have_any_plain_type(name, tmp_path):
    column, values = TYPES[name]
    table = pa.Table.from_pandas(FRAME).append_column("x", column)
    pa.parquet.write_table(table, tmp_path / "typed.parquet", row_group_size=50)
    found = groups(tmp_path / "typed.parquet", "x")
    assert list(found) == [f"x={value}" for value in values]
    assert sum(found.values()) == N - column.null_count


def test_timestamps_are_categories(tmp_path):
    column = pa.array([datetime(2020, 5, 1 + k) for k in K])
    table = pa.Table.from_pandas(FRAME).append_column("x", column)
    pa.parquet.write_table(table, tmp_path / "typed.parquet")
    assert [name[:12] for name in groups(tmp_path / "typed.parquet", "x")] == [
        *("x=2020-05-01", "x=2020-05-02", "x=2020-05-03")
    ]


def test_whole_numbers_beyond_the_floats_are_amounts(tmp_path):
    column = pa.array([16 * 10**17 + 1 + 10**15 * k for k in range(N)])
    table = pa.Table.from_pandas(FRAME).append_column("x", column)
    pa.parquet.write_table(table, tmp_path / "typed.parquet")
    assert sum(groups(tmp_path / "typed.parquet", "x").values()) == N


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pa.bool_(), pa.uint8(), pa.decimal128(20, 1)])
def test_decisions_and_labels_of_parquet_may_have_any_plain_type(kind, tmp_path):
    decisions = (FRAME["p"] > 0.5).astype(int)
    table = pa.table(
        {
            "p": pa.array(decisions).cast(kind),
            "y": pa.array(FRAME["y"]).cast(kind),
            "sex": pa.array(FRAME["sex"]),
        }
    )
    pa.parquet.write_table(table, tmp_path / "typed.parquet")
    options = {
        "score": "p",
        "label": "y",
        "sensitive": "sex",
        "notions": ["tpr", "ppv"],
    }
    found = fairret.audit(tmp_path / "typed.parquet", **options)
    expected = fairret.audit(FRAME.assign(p=decisions), **options)
    assert found.to_dict()["notions"] == expected.to_dict()["notions"]
    assert found.settings.models[0].hard


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_header_may_be_longer_than_what_is_read_at_first(encoding, tmp_path):
    names = [f"feature_{k:020}" for k in range(5000)]
    row = ",".join(["0"] * len(names))
    lines = [",".join([*names, "y", "p", "sex"])]
    lines += [f"{row},{y},{p},{sex}" for y, p, sex in FRAME.to_numpy()]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines), encoding=encoding)
    assert groups(path) == SIZES


def test_names_of_other_scripts_survive_another_encoding(tmp_path):
    frame = FRAME.assign(sex=FRAME["sex"].map({"f": "女性", "m": "𝄞 мужчина"}))
    path = tmp_path / "unicode.csv"
    path.write_text(frame.to_csv(index=False), encoding="utf-16")
    expected = {"sex=女性": SIZES["sex=f"], "sex=𝄞 мужчина": SIZES["sex=m"]}
    assert dict(sorted(groups(path).items())) == dict(sorted(expected.items()))


def test_copy_in_utf_8_is_deleted(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    (tmp_path / "notepad.csv").write_text(TEXT, encoding="utf-16")
    source_of_text = files.CsvSource(tmp_path / "notepad.csv", None)
    assert len(list(folder.iterdir())) == 1
    del source_of_text
    gc.collect()
    assert not list(folder.iterdir())

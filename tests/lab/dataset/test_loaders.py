"""Every rule of the preprocessing, on tables small enough to check by eye."""

import io
import struct
import sys

import pytest

from fairret.errors import DataFileError, MissingExtraError
from fairret.lab.dataset import acs_income, bank, credit_card, files, law_school, load
from fairret.lab.dataset.files import Published
from small_tables import column, group

MODULES = {"bank": bank, "creditcard": credit_card, "lawschool": law_school}


BANK = """\
age;job;marital;education;default;housing;loan;contact;month;day_of_week;duration;\
campaign;pdays;previous;poutcome;emp.var.rate;cons.price.idx;cons.conf.idx;euribor3m;\
nr.employed;y
20;student;single;basic.4y;no;yes;unknown;cellular;may;mon;261;1;999;0;none;1.1;93;-36;4;5191;no
60;unknown;married;unknown;unknown;unknown;yes;telephone;jun;tue;100;2;3;1;success;-1.8;92;-40;1;5000;yes
30;retired;unknown;basic.6y;no;no;no;telephone;jun;tue;90;3;999;0;none;1;92;-40;1;5000;yes
40;admin.;divorced;illiterate;yes;no;no;cellular;jun;tue;80;4;999;0;none;1;92;-40;1;5000;no
"""


def test_bank_drops_unknown_marital_status_and_takes_the_unknown_for_false(write):
    write(bank, "TABLE", BANK)
    data = load("bank")
    assert data.label.tolist() == [0, 1, 0]  # the third row is gone
    assert column(data, "default") == [0, 0, 1]
    assert column(data, "housing") == [1, 0, 0]
    assert column(data, "loan") == [0, 1, 0]
    assert column(data, "job=student") == [1, 0, 0]
    jobs = [k for k, name in enumerate(data.feat_names) if name.startswith("job=")]
    assert data.feat[:, jobs].sum(1).tolist() == [1, 0, 1]  # unknown: no job at all
    assert column(data, "duration") == [261, 100, 80]


def test_bank_drops_previous_campaign_date_and_traits(write):
    write(bank, "TABLE", BANK)
    words = {name.split("=")[0] for name in load("bank").feat_names}
    assert words == {
        *("job", "education", "default", "housing", "loan", "contact", "duration"),
        *("campaign", "emp.var.rate", "cons.price.idx", "cons.conf.idx"),
        *("euribor3m", "nr.employed"),
    }


def test_bank_has_marital_status_and_age_as_traits(write):
    write(bank, "TABLE", BANK)
    data = load("bank")
    assert data.traits == {"marital": (0, 1, 2), "age": (3,)}
    assert group(data, "marital=divorced") == [0, 0, 1]
    assert group(data, "age") == [0, 1, 0.5]  # 20, 60, 40
    assert data.card.group_sizes["marital=single"] == 1
    assert data.card.group_sizes["age"] is None


CREDIT_NAMES = (
    *("ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE"),
    *credit_card.AMOUNTS[1:],
    credit_card.LABEL,
)


def client(number, sex, education, marriage, age, default):
    amounts = [number * 100 + k for k in range(18)]
    return [number, 5000 * number, sex, education, marriage, age, *amounts, default]


CLIENTS = [
    client(1, 1, 1, 1, 30, 1),
    *(client(2 + k, 2, code, 1, 99, 1) for k, code in enumerate((0, 4, 5, 6))),
    client(6, 2, 3, 0, 99, 1),
    client(7, 2, 3, 3, 70, 0),
    client(8, 2, 2, 2, 40, 0),
]


def credit_csv():
    rows = (",".join(map(str, row)) for row in (CREDIT_NAMES, *CLIENTS))
    return "".join(f"{row}\n" for row in rows)


def test_creditcard_drops_unexplained_codes_and_other_education(write):
    write(credit_card, "TABLE", credit_csv())
    data = load("creditcard")
    assert column(data, "LIMIT_BAL") == [5000, 35000, 40000]
    assert column(data, "PAY_0") == [100, 700, 800]
    assert column(data, "PAY_AMT6") == [117, 717, 817]
    assert data.label.tolist() == [1, 0, 0]
    assert "ID" not in data.feat_names
    assert data.card.rows == 3


def test_creditcard_has_four_traits(write):
    write(credit_card, "TABLE", credit_csv())
    data = load("creditcard")
    assert list(data.traits) == ["sex", "education", "marriage", "age"]
    assert group(data, "sex=female") == [0, 1, 1]
    assert group(data, "education=high school") == [0, 1, 0]
    assert group(data, "marriage=other") == [0, 1, 0]
    assert group(data, "age") == [0, 1, 0.25]


def workbook(rows):
    """Write a sheet as Excel 2 did: a record for every cell, and no container."""

    def record(kind, content):
        return struct.pack("<HH", kind, len(content)) + content

    cells = [record(0x0009, struct.pack("<HH", 2, 0x10)), record(0x42, b"\xe4\x04")]
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            place = struct.pack("<HH3x", i, j)
            if isinstance(value, str):
                text = struct.pack("<B", len(value)) + value.encode()
                cells.append(record(0x0004, place + text))
            else:
                cells.append(record(0x0003, place + struct.pack("<d", value)))
    return b"".join((*cells, record(0x000A, b"")))


def test_creditcard_workbook_becomes_the_csv():
    pytest.importorskip("xlrd")
    letters = [f"X{k}" for k in range(len(CREDIT_NAMES))]
    content = workbook([letters, CREDIT_NAMES, *CLIENTS])
    assert credit_card.workbook_to_csv(io.BytesIO(content)).decode() == credit_csv()


@pytest.mark.parametrize(
    "content",
    [b"<html>", workbook([["X1"], ["ID"], ["one"]]), workbook([["X1"]])],
    ids=["page", "text", "empty"],
)
def test_creditcard_refuses_another_workbook(content):
    pytest.importorskip("xlrd")
    with pytest.raises(DataFileError, match="must be a workbook of whole numbers"):
        credit_card.workbook_to_csv(io.BytesIO(content))


def test_creditcard_names_the_extra_without_xlrd(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlrd", None)
    with pytest.raises(MissingExtraError, match=r"xlrd, .* 'fairret\[experiment\]'"):
        credit_card.workbook_to_csv(io.BytesIO(b""))


LAW = """\
LSAT,GPA,Race,resident,college,Year,Gender,admit,White,enroll
150,3.5,White,0,Michigan,2006,0,1,1,
160,3.0, ,1,Idaho,2007,1,0,0,0
155,3.1,Black,1,Idaho,200x,1,,0,
,3.2,Black,1,Idaho,2005,1,1,0,
151,,Black,1,Idaho,2005,1,1,0,
152,3.3,Black,,Idaho,2005,1,1,0,
153,3.4,Black,1,Idaho,2005,,1,0,
170,3.9,Hispanic,1,Houston,2005,1,0,0,1
"""


def test_lawschool_drops_and_counts_incomplete_rows(write):
    write(law_school, "TABLE", LAW, encoding="utf-8-sig")
    data = load("lawschool")
    assert column(data, "LSAT") == [150, 160, 170]
    assert column(data, "college=Idaho") == [0, 1, 0]
    assert data.label.tolist() == [1, 0, 0]
    assert "Dropped: 1 rows without outcome, then 4 without" in data.card.notes[0]


def test_lawschool_keeps_unknown_race_in_no_group(write):
    write(law_school, "TABLE", LAW, encoding="utf-8-sig")
    data = load("lawschool")
    assert list(data.traits) == ["race", "sex"]
    assert data.sens[:, :4].sum(1).tolist() == [1, 0, 1]
    assert group(data, "race=Hispanic") == [0, 0, 1]
    assert group(data, "sex=male") == [0, 1, 1]


def test_lawschool_uses_neither_the_year_nor_what_the_decision_caused(write):
    write(law_school, "TABLE", LAW, encoding="utf-8-sig")
    words = {name.split("=")[0] for name in load("lawschool").feat_names}
    assert words == {"LSAT", "GPA", "resident", "college"}


def test_lawschool_without_a_file_says_that_there_is_no_download(monkeypatch):
    monkeypatch.delenv(files.HOME, raising=False)
    monkeypatch.setattr(files, "cache_folder", lambda: None)
    with pytest.raises(
        DataFileError, match=r"lawschool\.csv, because its publisher no"
    ):
        load("lawschool")


@pytest.mark.parametrize("name", MODULES)
def test_table_without_its_columns_is_one_sentence(write, name):
    write(MODULES[name], "TABLE", "a,b\n1,2\n")
    with pytest.raises(DataFileError, match=r"` must be a table with the columns"):
        load(name)


def test_without_pandas_the_extra_is_named(write, monkeypatch):
    write(bank, "TABLE", BANK)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pandas, .* 'fairret\[experiment\]'"):
        load("bank")


def test_every_table_but_one_has_a_publisher():
    tables = [bank.TABLE, credit_card.TABLE, acs_income.FULL, acs_income.COLORADO]
    assert all(isinstance(table, Published) and table.url for table in tables)
    assert law_school.TABLE.url is None

"""Every rule of the preprocessing of ACSIncome, on tables to check by eye."""

import io

import pytest

from fairret.errors import DataFileError, RangeError
from fairret.lab.dataset import acs_income, load
from small_tables import column, group

ACS = """\
AGEP,COW,SCHL,MAR,OCCP,POBP,RELP,WKHP,SEX,RAC1P,PINCP_gt_50000
20,1,16,5,4720,6,0,40,1,1,0
60,8,24,2,4799,999,17,10,2,3,1
40,3,1,1,10,301,2,35,2,8,1
30,3,1,1,9830,100,2,35,2,9,1
"""


def test_acsincome_merges_races_occupations_and_places(write):
    write(acs_income, "COLORADO", ACS.replace("999", "467"))
    data = load("acsincome", state="CO")
    assert column(data, "OCCP=47") == [1, 1, 0, 0]
    assert column(data, "OCCP=98") == [0, 0, 0, 1]
    assert column(data, "POBP=6") == [1, 0, 0, 0]
    assert column(data, "POBP=301") == [0, 0, 1, 0]
    assert column(data, "POBP=Africa") == [0, 1, 0, 0]
    assert column(data, "POBP=Europe") == [0, 0, 0, 1]
    assert group(data, "race=other") == [0, 1, 1, 0]
    assert group(data, "race=two or more") == [0, 0, 0, 1]
    one_hot = data.feat[:, 1:].sum(1).tolist()
    assert one_hot == [5, 5, 5, 5]  # one column of each of five features


def test_acsincome_has_four_traits_that_are_no_features(write):
    write(acs_income, "COLORADO", ACS)
    data = load("acsincome", state="CO")
    assert list(data.traits) == ["age", "marital", "sex", "race"]
    assert group(data, "age") == [0, 1, 0.5, 0.25]
    assert group(data, "marital=widowed") == [0, 1, 0, 0]
    words = {name.split("=")[0] for name in data.feat_names}
    assert words == {"COW", "SCHL", "OCCP", "POBP", "RELP", "WKHP"}
    assert data.card.paper_rows is None


def test_acsincome_takes_the_sample_and_says_so(write):
    write(acs_income, "SAMPLE", ACS)
    assert load("acsincome").card.title == "ACSIncome (46 % sample)"


def test_acsincome_prefers_the_complete_table_and_checks_it(write):
    write(acs_income, "SAMPLE", ACS)
    write(acs_income, "FULL", ACS)
    with pytest.raises(DataFileError, match=r"got 4 rows, 3 positive, in .*2018\.csv"):
        load("acsincome")


SURVEY = """\
SERIALNO,PINCP,PWGTP,AGEP,COW,SCHL,MAR,OCCP,POBP,RELP,WKHP,SEX,RAC1P
a,50000,1,17,1,16,5,4720,6,0,40,1,1
b,50001,9,40,1,16,1,0010,303,0,1,2,8
c,60000,9,16,1,16,1,0010,303,0,1,2,8
d,100,9,40,1,16,1,0010,303,0,1,2,8
e,60000,0,40,1,16,1,0010,303,0,1,2,8
f,60000,9,40,,16,1,,303,0,,2,8
"""


def test_acsincome_chooses_the_rows_of_folktables():
    file = io.BytesIO(SURVEY.encode())
    table = acs_income.survey_to_csv(file, california=False).decode()
    assert table.splitlines()[1:] == [
        "17,1,16,5,4720,6,0,40,1,1,0",
        "40,1,16,1,10,303,0,1,2,8,1",
    ]
    assert table.startswith("AGEP,COW,SCHL,MAR,OCCP,POBP,RELP,WKHP,SEX,RAC1P,PINCP_gt")


def test_acsincome_refuses_another_california():
    with pytest.raises(DataFileError, match=r"195665 people .* got 2 rows, 1 positive"):
        acs_income.survey_to_csv(io.BytesIO(SURVEY.encode()), california=True)


def test_acsincome_refuses_a_survey_without_its_columns():
    with pytest.raises(
        DataFileError, match="the publisher's file` must be a table with"
    ):
        acs_income.survey_to_csv(io.BytesIO(b"a,b\n1,2\n"), california=False)


def test_acsincome_knows_two_states():
    with pytest.raises(RangeError, match='`state` must be "CA" or "CO"; got \'TX\''):
        load("acsincome", state="TX")

"""The paper's datasets have the paper's counts, or the card says where not."""

import hashlib
import io
import os

import pytest
import torch

from fairret.errors import DataFileError
from fairret.lab.dataset import acs_income, load
from fairret.lab.dataset.files import Published

pytestmark = pytest.mark.skipif(
    not os.environ.get("FAIRRET_DATA_HOME"),
    reason="FAIRRET_DATA_HOME does not name a folder with the published tables",
)

EXPECTED = {  # n, d_x, d_s, positives
    "bank": (41_108, 30, 4, 4_628),
    "creditcard": (29_478, 19, 9, 6_598),
    "lawschool": (65_171, 16, 6, 16_108),
    "colorado": (31_306, 179, 13, 12_972),
    "california": (89_958, 179, 13, 36_975),
}
SIZES = {
    "bank": {
        "marital=divorced": 4_612,
        "marital=married": 24_928,
        "marital=single": 11_568,
        "age": None,
    },
    "creditcard": {
        "sex=male": 11_704,
        "sex=female": 17_774,
        "education=graduate school": 10_581,
        "education=university": 14_024,
        "education=high school": 4_873,
        "marriage=married": 13_425,
        "marriage=single": 15_738,
        "marriage=other": 315,
        "age": None,
    },
    "lawschool": {
        "race=Asian": 6_668,
        "race=Black": 5_454,
        "race=Hispanic": 4_348,
        "race=White": 39_647,
        "sex=female": 28_218,
        "sex=male": 36_953,
    },
    "california": {
        "age": None,
        "marital=married": 47_258,
        "marital=widowed": 1_451,
        "marital=divorced": 8_243,
        "marital=separated": 1_707,
        "marital=never married": 31_299,
        "sex=male": 47_603,
        "sex=female": 42_355,
        "race=white": 55_528,
        "race=black": 3_922,
        "race=asian": 14_976,
        "race=two or more": 3_819,
        "race=other": 603 + 5 + 223 + 292 + 10_590,
    },
}


@pytest.fixture(scope="module")
def loaded():
    with pytest.MonkeyPatch.context() as patch:  # the sample, whatever the cache has
        patch.setattr(acs_income, "FULL", Published("acsincome/nowhere.csv"))
        california = load("acsincome")
    return {
        **{name: load(name) for name in ("bank", "creditcard", "lawschool")},
        "california": california,
        "colorado": load("acsincome", state="CO"),
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_counts_are_the_known_ones(loaded, name):
    data = loaded[name]
    n, d_x, d_s, positives = EXPECTED[name]
    assert data.feat.shape == (n, d_x)
    assert data.sens.shape == (n, d_s)
    assert data.label.shape == (n,)
    assert len(data.feat_names) == d_x
    assert len(data.sens_names) == d_s
    assert (data.card.rows, data.card.positives) == (n, positives)
    assert int(data.label.sum()) == positives


@pytest.mark.parametrize("name", SIZES)
def test_group_sizes_are_the_known_ones(loaded, name):
    assert dict(loaded[name].card.group_sizes) == SIZES[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_values_are_finite_and_in_range(loaded, name):
    data = loaded[name]
    assert bool(data.feat.isfinite().all())
    assert 0 <= float(data.sens.min()) < float(data.sens.max()) <= 1
    assert set(data.label.unique().tolist()) == {0.0, 1.0}
    for tensor in (data.feat, data.sens, data.label):
        assert tensor.dtype == torch.float32


@pytest.mark.parametrize("name", EXPECTED)
def test_every_row_has_the_single_trait(loaded, name):
    data = loaded[name]
    rows = data.sens[:, list(data.traits[data.single])].sum(1)
    assert torch.equal(rows, torch.ones(len(data)))


@pytest.mark.parametrize("name", EXPECTED)
def test_no_feature_is_empty_or_a_trait(loaded, name):
    data = loaded[name]
    assert bool((data.feat != 0).any(0).all())
    words = {name.split("=")[0].lower() for name in data.feat_names}
    assert words.isdisjoint(data.traits)
    assert words.isdisjoint({"agep", "mar", "rac1p", "gender", "year", "id"})


@pytest.mark.parametrize("name", EXPECTED)
def test_every_group_is_one_percent_of_the_rows(loaded, name):
    card = loaded[name].card
    sizes = [size for size in card.group_sizes.values() if size is not None]
    assert min(sizes) >= 0.01 * card.rows


def test_races_of_the_full_table_are_large_enough_too():
    full = {1: 121_006, 2: 8_557, 6: 32_709, 9: 8_206}
    other = 1_294 + 13 + 450 + 637 + 22_793
    assert sum(full.values()) + other == acs_income.CA_ROWS
    assert set(full) == set(acs_income.RACE)
    assert min(*full.values(), other) >= 0.01 * acs_income.CA_ROWS


def test_unknown_race_is_in_no_group(loaded):
    data = loaded["lawschool"]
    nowhere = data.sens[:, list(data.traits["race"])].sum(1) == 0
    assert int(nowhere.sum()) == 65_171 - 6_668 - 5_454 - 4_348 - 39_647
    assert data.card.notes[0].startswith("Dropped: 44 rows without outcome, then 320")
    assert data.card.notes[1].startswith(f"The {int(nowhere.sum())} people of unknown")


@pytest.fixture
def three_columns():
    pd = pytest.importorskip("pandas")
    folder = os.environ["FAIRRET_DATA_HOME"]
    path = f"{folder}/acsincome/acsincome_ca_2018_sex_race_label_195665.csv"
    if not os.path.exists(path):
        pytest.skip("the three columns of California are not at hand")
    table = pd.read_csv(path)
    constants = {
        **{"AGEP": 40, "COW": 1, "SCHL": 16, "MAR": 1, "OCCP": 4720, "POBP": 6},
        **{"RELP": 0, "WKHP": 40},
    }
    return table.assign(**constants)


def complete_table(tmp_path, monkeypatch, table):
    """Write a table with the people of California, and what else is needed alike."""
    monkeypatch.setenv("FAIRRET_DATA_HOME", str(tmp_path))
    (tmp_path / "acsincome").mkdir()
    table.to_csv(tmp_path / acs_income.FULL.path, index=False)


@pytest.mark.slow
def test_complete_table_is_known_by_sex_race_and_outcome(
    three_columns, tmp_path, monkeypatch
):
    complete_table(tmp_path, monkeypatch, three_columns)
    data = load("acsincome")
    assert data.card.title == "ACSIncome"
    assert (data.card.rows, data.card.positives) == (195_665, 80_335)
    assert data.feat.shape == (195_665, 179)


@pytest.mark.slow
def test_complete_table_in_another_order_is_refused(
    three_columns, tmp_path, monkeypatch
):
    complete_table(tmp_path, monkeypatch, three_columns.iloc[::-1])
    with pytest.raises(
        DataFileError, match=r"`acsincome/.*` must hold the 195665 people"
    ):
        load("acsincome")


@pytest.mark.slow
def test_survey_of_colorado_becomes_the_published_bytes():
    pd = pytest.importorskip("pandas")
    folder = os.environ["FAIRRET_DATA_HOME"]
    table = pd.read_csv(f"{folder}/{acs_income.COLORADO.path}")
    income = table.pop(acs_income.LABEL).map({0: 50_000, 1: 50_001})
    survey = table.assign(PWGTP=3, PINCP=income, SPORDER=1)
    child = survey.iloc[:7].assign(AGEP=9, PINCP=None, WKHP=None)  # no income, no work
    file = io.BytesIO(pd.concat([child, survey]).to_csv(index=False).encode())
    content = acs_income.survey_to_csv(file, california=False)
    assert hashlib.sha256(content).hexdigest() == acs_income.COLORADO.sha256

"""ACSIncome: does a person earn more than $50 000 a year?"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

from fairret.errors import DataFileError, RangeError
from fairret.lab.dataset.files import Published, fetch, find
from fairret.lab.dataset.table import Card, Dataset, make_dataset, read_csv
from fairret.sensitive import Categorical, Continuous

if TYPE_CHECKING:
    from pandas import DataFrame

State: TypeAlias = Literal["CA", "CO"]

SURVEY = "https://www2.census.gov/programs-surveys/acs/data/pums/2018/1-Year"
LABEL = "PINCP_gt_50000"
COLUMNS = (
    *("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P"),
)
SEX = {1: "male", 2: "female"}
STATUSES = ("married", "widowed", "divorced", "separated", "never married")
MARITAL = dict(enumerate(STATUSES, start=1))
RACE = {1: "white", 2: "black", 6: "asian", 9: "two or more"}
RACES = (*RACE.values(), "other")  # the codes 3, 4, 5, 7 and 8
REGIONS = ("US", "Europe", "Asia", "America", "Africa", "Oceania")  # POBP by hundreds
PLACES = (  # where at least 0.5 % of the Californian sample were born
    *(4, 6, 8, 17, 25, 26, 34, 36, 39, 42, 48, 53, 207, 210, 212, 217, 233, 240, 247),
    *(301, 303, 312, 313),
)
GROUPS = {
    "COW": range(1, 9),
    "SCHL": range(1, 25),
    "RELP": range(18),
    "OCCP": range(99),
    "POBP": (*PLACES, *REGIONS),
}
CA_ROWS, CA_POSITIVES = 195_665, 80_335
CA_SHA256 = "59cb5824ea6790ea7f3cde28bbfc4986f76017bdd7d611c7f72541674dfee7f9"
ABOUT = Card(
    title="ACSIncome",
    source="U.S. Census Bureau, ACS PUMS 2018, 1-year, people; rows and outcome as in "
    "Folktables",
    licence="public; terms of service of the U.S. Census Bureau",
    citation="Ding, Hardt, Miller and Schmidt (2021), Retiring Adult",
    paper_rows=CA_ROWS,
    paper_positives=CA_POSITIVES,
    notes=(
        "Races below 1 % in California (RAC1P 3, 4, 5 and 7) are in one group with "
        '"some other race" (8).',
        "Occupations are taken by the first two of their four digits, and places of "
        "birth below 0.5 % by region of the world: the codes themselves would be some "
        "750 columns.",
    ),
)


def survey_to_csv(file: IO[bytes], *, california: bool) -> bytes:
    """Choose rows and columns of the survey as Folktables does.

    Raises:
        DataFileError: If columns are missing, or California has not the paper's rows.
        MissingExtraError: If pandas is not installed.
    """
    raw = read_csv(file, dict.fromkeys((*COLUMNS, "PINCP", "PWGTP"), float))
    rows = raw.query("AGEP > 16 and PINCP > 100 and WKHP > 0 and PWGTP >= 1")
    table = rows[list(COLUMNS)].fillna(-1).astype(int)
    table[LABEL] = (rows["PINCP"] > 50_000).astype(int)
    if california:
        _check_california(table, str(FULL.url))
    return _as_csv(table)


FULL = Published(
    path="acsincome/acsincome_ca_2018.csv",  # checked by `_check_california`
    url=f"{SURVEY}/csv_pca.zip",
    members=("psam_p06.csv",),
    convert=partial(survey_to_csv, california=True),
)
SAMPLE = Published(
    path="acsincome/acsincome_ca_2018_sample89958.csv",
    sha256="28e3015e7bd7e0e2071518e25cd2aee5f5c1e915de2025a7cfe9d76f8e0163dd",
)
COLORADO = Published(
    path="acsincome/acsincome_co_2018.csv",
    sha256="ce8cf7c949b2cf444f61a498b248d535466fe362ee7efa79919a58f664c53d97",
    url=f"{SURVEY}/csv_pco.zip",
    members=("psam_p08.csv",),
    convert=partial(survey_to_csv, california=False),
)


def load_acs_income(*, state: State = "CA") -> Dataset:
    """Load people at work from the census survey of 2018 (App. D.1).

    ==========  ==========================================================
    rows        195 665 in California, 31 306 in Colorado
    positives   80 335 (41.1 %) and 12 972 (41.4 %): more than $50 000
    `feat`      179: class of worker (8), schooling (24), relation to the
                householder (18), occupation (99), place of birth (29)
                one-hot; hours a week
    `sens`      13: age, marital status (5), sex (2), race (5)
    ==========  ==========================================================

    Rows are those of Folktables: older than 16, an income above $100, at least one hour
    of work per week. For California, the complete table is used if `FAIRRET_DATA_HOME`
    or the cache has it, else a sample of 46 % in `FAIRRET_DATA_HOME`, and the card says
    so. Without either, the complete table is downloaded.

    Args:
        state: "CA" as in the paper, or "CO".

    Returns:
        The dataset; its single trait is the sex.

    Raises:
        RangeError: If the state is another one.
        DataFileError: If the file is not available, or is not the published one.
        MissingExtraError: If a package of the extra `experiment` is not installed.
    """
    if state not in ("CA", "CO"):
        raise RangeError(
            f'`state` must be "CA" or "CO"; got {state!r}. Leave it out for '
            "California, which the paper takes."
        )
    types = dict.fromkeys((*COLUMNS, LABEL), int)
    about = ABOUT
    if state == "CO":
        frame = read_csv(fetch(COLORADO), types)
        about = replace(
            about, title="ACSIncome (Colorado)", paper_rows=None, paper_positives=None
        )
    elif not find(FULL) and (path := find(SAMPLE)):
        frame = read_csv(path, types)
        about = replace(about, title="ACSIncome (46 % sample)")
    else:
        path = fetch(FULL)
        frame = read_csv(path, types)
        _check_california(frame, str(path))
    return _prepare(frame, about)


def _prepare(frame: DataFrame, about: Card) -> Dataset:
    place = frame["POBP"]
    region = (place // 100).map(dict(enumerate(REGIONS)))
    return make_dataset(
        "acsincome",
        frame.assign(
            OCCP=frame["OCCP"] // 100,
            POBP=region.where(~place.isin(PLACES), place),
            age=frame["AGEP"],
            marital=frame["MAR"].map(MARITAL),
            sex=frame["SEX"].map(SEX),
            race=frame["RAC1P"].map(RACE).fillna("other"),
        ),
        amounts=("WKHP",),
        groups=GROUPS,
        traits=[
            Continuous("age"),
            Categorical("marital", categories=STATUSES),
            Categorical("sex", categories=tuple(SEX.values())),
            Categorical("race", categories=RACES),
        ],
        label=LABEL,
        single="sex",
        about=about,
    )


def _check_california(table: DataFrame, place: str) -> None:
    """Check sex, race and outcome of every row against the paper's table."""
    checked = _as_csv(table[["SEX", "RAC1P", LABEL]])
    if hashlib.sha256(checked).hexdigest() != CA_SHA256:
        raise DataFileError(
            f"`{FULL.path}` must hold the {CA_ROWS} people of Folktables in the order "
            f"of the survey, {CA_POSITIVES} of them positive; got {len(table)} rows, "
            f"{int(table[LABEL].sum())} positive, in {place}. Remove that file to "
            "make it again from the survey's."
        )


def _as_csv(table: DataFrame) -> bytes:
    return bytes(table.to_csv(index=False, lineterminator="\n").encode())

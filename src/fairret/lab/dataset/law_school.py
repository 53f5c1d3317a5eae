"""LawSchool: will an applicant be admitted?"""

from __future__ import annotations

from dataclasses import replace

from fairret.lab.dataset.files import Published, fetch
from fairret.lab.dataset.table import Card, Dataset, make_dataset, read_csv
from fairret.sensitive import Categorical

TABLE = Published(  # no address: the publisher's site is gone
    path="lawschool/lawschool.csv",
    sha256="fc791eef90e506bb4a3d80f2b3730e21fba83e7019207900381b2ba859f6cc0e",
)
COLLEGES = (
    *("Arizona State", "Buffalo", "George Mason", "Hawaii", "Houston", "Idaho"),
    *("Louisiana State", "Michigan", "Missouri at Kansas City", "Nevada Las Vegas"),
    *("North Carolina", "Northern Illinois", "Ohio State"),
)
AMOUNTS = ("LSAT", "GPA", "resident")
RACES = ("Asian", "Black", "Hispanic", "White")
SEX = {0.0: "female", 1.0: "male"}
ABOUT = Card(
    title="LawSchool",
    source="Project SEAPHE, law school admissions, the copy of 65 535 rows",
    licence="none stated; no longer served by the publisher",
    citation="Project SEAPHE, databases, 2005 to 2008",
    paper_rows=65_535,
    notes=(
        "The paper's 24.84 % of positives are 16 266 of the 65 491 rows whose outcome "
        "is known.",
        "The file has no codebook: gender 1 is read as male, for it has the higher "
        "LSAT, the lower GPA and 40 % of the black applicants.",
        "13 of the 25 schools are in this copy, which ends where a spreadsheet did.",
    ),
)


def load_law_school() -> Dataset:
    """Load applications to law schools in the United States (App. D.1).

    ==========  ==========================================================
    rows        65 171 applications to 13 schools, 2005 to 2008
    positives   16 108 (24.7 %): admitted
    `feat`      16: LSAT, GPA, residence in the state, college (13) one-hot
    `sens`      6: race (4), sex (2)
    ==========  ==========================================================

    The year is not used. Rows without outcome, LSAT, GPA, residence or sex are
    dropped, and the card counts them; those of unknown race belong to no race group.

    Returns:
        The dataset; its single trait is the sex.

    Raises:
        DataFileError: If the folder `FAIRRET_DATA_HOME` does not hold the file, which
            cannot be downloaded.
        MissingExtraError: If a package of the extra `experiment` is not installed.
    """
    needed = [*AMOUNTS, "Gender"]
    types = dict.fromkeys((*needed, "admit"), float) | {"Race": str, "college": str}
    frame = read_csv(
        *(fetch(TABLE), types),
        encoding="utf-8-sig",  # the file begins with a byte order mark
        keep_default_na=False,
        na_values=[""],
    )
    judged = frame[frame["admit"].notna()]
    complete = judged[judged[needed].notna().all(axis=1)]
    dropped = (
        f"Dropped: {len(frame) - len(judged)} rows without outcome, then "
        f"{len(judged) - len(complete)} without LSAT, GPA, residence or sex."
    )
    race = complete["Race"].where(complete["Race"].isin(RACES))  # a blank is missing
    kept = f"The {race.isna().sum()} people of unknown race belong to no race group."
    return make_dataset(
        "lawschool",
        complete.assign(race=race, sex=complete["Gender"].map(SEX)),
        amounts=AMOUNTS,
        groups={"college": COLLEGES},
        traits=[
            Categorical("race", categories=RACES),
            Categorical("sex", categories=tuple(SEX.values())),
        ],
        label="admit",
        single="sex",
        about=replace(ABOUT, notes=(dropped, kept, *ABOUT.notes)),
    )

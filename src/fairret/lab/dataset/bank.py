"""Bank: will a client subscribe to a long-term deposit?"""

from __future__ import annotations

from fairret.lab.dataset.files import Published, fetch
from fairret.lab.dataset.table import Card, Dataset, make_dataset, read_csv
from fairret.sensitive import Categorical, Continuous

TABLE = Published(
    path="bank/bank-additional-full.csv",
    sha256="74adfc578bf77a7ff4bb1ba4a9f8709d9e3c6907342959c2c8416847e0afb4d8",
    url="https://archive.ics.uci.edu/static/public/222/bank+marketing.zip",
    members=("bank-additional.zip", "bank-additional-full.csv"),
)
YES_OR_NO = ("default", "housing", "loan")
AMOUNTS = ("duration", "campaign")
INDICATORS = (  # of the economy at the time
    *("emp.var.rate", "cons.price.idx", "cons.conf.idx", "euribor3m", "nr.employed"),
)
GROUPS = {
    "job": (
        *("admin.", "blue-collar", "entrepreneur", "housemaid", "management"),
        *("retired", "self-employed", "services", "student", "technician"),
        "unemployed",
    ),
    "education": (
        *("illiterate", "basic.4y", "basic.6y", "basic.9y", "high.school"),
        *("professional.course", "university.degree"),
    ),
    "contact": ("cellular", "telephone"),
}
MARITAL = ("divorced", "married", "single")
ABOUT = Card(
    title="Bank",
    source="UCI Machine Learning Repository, Bank Marketing (bank-additional-full.csv)",
    licence="CC BY 4.0",
    citation="Moro, Cortez and Rita (2014), doi:10.1016/j.dss.2014.03.001",
    paper_rows=41_108,
    paper_positives=4_640,
    notes=(
        "4 640 are the positives before the 80 rows of unknown marital status go.",
        "An unknown job or education is False for every job or education: zeros.",
        "The duration of the call, known only after it, is a feature: the paper does "
        "not leave it out.",
    ),
)


def load_bank() -> Dataset:
    """Load telephone calls that offered a long-term deposit (App. D.1).

    ==========  ==========================================================
    rows        41 108 calls of a Portuguese bank, 2008 to 2013
    positives   4 628 (11.3 %): the client subscribed
    `feat`      30: job (11), education (7), contact (2) one-hot; default,
                housing and loan; 7 amounts
    `sens`      4: marital status (3 groups), age
    ==========  ==========================================================

    The previous campaign (pdays, previous, poutcome) and the date (month, day_of_week)
    are dropped, and so are the 80 rows of unknown marital status. Whatever else is
    unknown counts as False.

    Returns:
        The dataset; its single trait is the marital status.

    Raises:
        DataFileError: If the file is not available, or is not the published one.
        MissingExtraError: If a package of the extra `experiment` is not installed.
    """
    types = {
        **dict.fromkeys(("age", *AMOUNTS), int),
        **dict.fromkeys(INDICATORS, float),
        **dict.fromkeys(("marital", *YES_OR_NO, *GROUPS, "y"), str),
    }
    frame = read_csv(fetch(TABLE), types, sep=";")
    frame = frame[frame["marital"] != "unknown"]
    flags = {column: frame[column] == "yes" for column in (*YES_OR_NO, "y")}
    return make_dataset(
        "bank",
        frame.assign(**flags),
        amounts=(*YES_OR_NO, *AMOUNTS, *INDICATORS),
        groups=GROUPS,
        traits=[Categorical("marital", categories=MARITAL), Continuous("age")],
        label="y",
        single="marital",
        about=ABOUT,
    )

"""CreditCard: will a client default next month?"""

from __future__ import annotations

from typing import IO

from fairret.errors import DataFileError, missing_extra
from fairret.lab.dataset.files import Published, fetch
from fairret.lab.dataset.table import Card, Dataset, make_dataset, read_csv
from fairret.sensitive import Categorical, Continuous

LABEL = "default payment next month"
AMOUNTS = (
    "LIMIT_BAL",
    *("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"),  # there is no PAY_1
    *(f"BILL_AMT{month}" for month in range(1, 7)),
    *(f"PAY_AMT{month}" for month in range(1, 7)),
)
SEX = {1: "male", 2: "female"}
EDUCATION = {1: "graduate school", 2: "university", 3: "high school"}
MARRIAGE = {1: "married", 2: "single", 3: "other"}
ABOUT = Card(
    title="CreditCard",
    source="UCI Machine Learning Repository, Default of Credit Card Clients",
    licence="CC BY 4.0",
    citation="Yeh and Lien (2009), doi:10.1016/j.eswa.2007.12.020",
    paper_rows=30_000,
    paper_positives=5_529,
    notes=(
        "The paper counts rows before it removes 522: EDUCATION 0, 4 (others), 5 and "
        "6, and MARRIAGE 0.",
        "No choice of rows that was tried gives the paper's 5 529 positives; there are "
        "6 636 before the removal.",
        "PAY_0 to PAY_6, months of delay, are amounts; their codes -2 and 0, which "
        "the documentation leaves out, are kept as in the paper's count.",
    ),
)


def workbook_to_csv(file: IO[bytes]) -> bytes:
    """Write the sheet as CSV, from its second header row on.

    Raises:
        DataFileError: If it is not a workbook of whole numbers.
        MissingExtraError: If xlrd is not installed.
    """
    try:
        import xlrd
    except ImportError:
        raise missing_extra(
            "Reading the publisher's workbook of `creditcard` needs",
            "xlrd",
            "experiment",
        ) from None
    try:
        sheet = xlrd.open_workbook(file_contents=file.read()).sheet_by_index(0)
        names, *rows = (sheet.row_values(i) for i in range(1, sheet.nrows))
        lines = [names, *([str(int(value)) for value in row] for row in rows)]
    except (xlrd.XLRDError, ValueError):
        raise DataFileError(
            "`creditcard` must be a workbook of whole numbers below two rows of names; "
            "got another one from the publisher. Set `FAIRRET_DATA_HOME` to a folder "
            f"that holds {TABLE.path}."
        ) from None
    return "".join(",".join(line) + "\n" for line in lines).encode()


TABLE = Published(
    path="creditcard/default_of_credit_card_clients.csv",
    sha256="4edce6da569b2c30788a85fd98a9bafb1a983e8ca1a7aac875dd7ff853cbd0bb",
    url="https://archive.ics.uci.edu/static/public/350/"
    "default+of+credit+card+clients.zip",
    members=("default of credit card clients.xls",),
    convert=workbook_to_csv,
)


def load_credit_card() -> Dataset:
    """Load clients of a bank in Taiwan, October 2005 (App. D.1).

    ==========  ==========================================================
    rows        29 478 clients
    positives   6 598 (22.4 %): defaulted in the next month
    `feat`      19 amounts: limit, delays, bills and payments of 6 months
    `sens`      9: sex (2), education (3), marriage (3), age
    ==========  ==========================================================

    522 rows are dropped: codes of education or marriage that the documentation does
    not explain, and the education "others", too few for a group.

    Returns:
        The dataset; its single trait is the sex.

    Raises:
        DataFileError: If the file is not available, or is not the published one.
        MissingExtraError: If a package of the extra `experiment` is not installed.
    """
    codes = ("SEX", "EDUCATION", "MARRIAGE", "AGE", LABEL)
    frame = read_csv(fetch(TABLE), dict.fromkeys((*codes, *AMOUNTS), int))
    frame = frame[frame["EDUCATION"].isin(EDUCATION) & frame["MARRIAGE"].isin(MARRIAGE)]
    return make_dataset(
        "creditcard",
        frame.assign(
            sex=frame["SEX"].map(SEX),
            education=frame["EDUCATION"].map(EDUCATION),
            marriage=frame["MARRIAGE"].map(MARRIAGE),
            age=frame["AGE"],
        ),
        amounts=AMOUNTS,
        traits=[
            Categorical("sex", categories=tuple(SEX.values())),
            Categorical("education", categories=tuple(EDUCATION.values())),
            Categorical("marriage", categories=tuple(MARRIAGE.values())),
            Continuous("age"),
        ],
        label=LABEL,
        single="sex",
        about=ABOUT,
    )

"""Words of the page: what is read from numbers, and conclusions that are checked."""

import math

import pytest

WORDS = """
{{ holds("Yes", ok) }}: the words stand alone.

{{ holds("No", "+0.1" | number > 0, "**−0.2 (−0.3 to −0.1)**" | direction == -1) }}.
"""


@pytest.fixture
def words(claims):
    import claim_words

    return claim_words


class One:
    """A page whose only number is whether something holds."""

    def __init__(self, ok):
        self.ok = ok

    def functions(self):
        return {"ok": self.ok}


def test_conclusion_stands_only_while_its_conditions_hold(claims):
    page = claims.render(WORDS, One(True))
    assert page == "Yes: the words stand alone.\n\nNo.\n"
    with pytest.raises(ValueError, match=r"no longer support the words 'Yes'"):
        claims.render(WORDS, One(False))


def test_conclusion_needs_a_condition(words):
    with pytest.raises(TypeError, match="needs a condition"):
        words.holds("Everything is fine")


def test_numbers_are_read_from_words(words):
    assert words.number("−0.29 ± 0.10") == -0.29
    assert words.number("1,755 runs") == 1755
    assert words.number("**+0.35 (+0.08 to +1.21)**") == 0.35
    assert math.isnan(words.number("–"))
    assert not words.number("–") > 0  # what is missing supports no conclusion
    assert not words.number("–") < 0
    assert words.share("3 of 4") == 0.75


def test_values_differ_clearly_by_three_of_both_errors(words):
    assert words.error("0.29 ± 0.10") == 0.1
    assert math.isnan(words.error("0.29"))
    assert words.clearly_more("0.80 ± 0.03", "0.60 ± 0.04")  # 4 errors of 0.05
    assert not words.clearly_more("0.74 ± 0.03", "0.60 ± 0.04")
    assert not words.clearly_more("0.60 ± 0.04", "0.80 ± 0.03")
    assert not words.clearly_more("–", "0.60 ± 0.04")
    assert words.last_number("not reached: 0.106 at a cost of 0.113") == 0.113


def test_direction_is_that_of_a_difference_in_bold(words):
    assert words.direction("**−0.02 (−0.03 to −0.01)**") == -1
    assert words.direction("0.3 to 0.5, **+0.200 (+0.150 to +0.250)**") == 1
    assert words.direction("+0.02 (−0.03 to +0.07)") == 0
    assert words.direction("–") == 0

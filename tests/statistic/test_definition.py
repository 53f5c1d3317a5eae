"""Defining a statistic, naming it, and what goes wrong on the way."""

import copy
import pickle

import pytest
import torch

from fairret.errors import (
    ArgumentError,
    DtypeError,
    NameNotFoundError,
    RangeError,
    ShapeError,
    StatisticError,
)
from fairret.statistic import (
    Accuracy,
    ConditionalPositiveRate,
    FScore,
    LinearFractionalStatistic,
    StackedLinearFractionalStatistic,
    TruePositiveRate,
    get_statistic,
    statistic_names,
)

PROB = torch.tensor([0.2, 0.9, 0.4])
SENS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
LABEL = torch.tensor([1.0, 0.0, 1.0])


def test_every_registered_name_makes_a_statistic():
    for name in statistic_names():
        if name != "cpr":
            assert isinstance(get_statistic(name), LinearFractionalStatistic)
    assert get_statistic("demographic_parity").name == "pr"


def test_name_that_needs_settings_says_so():
    with pytest.raises(ArgumentError, match="needs no settings; got 'cpr'"):
        get_statistic("cpr")


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(NameNotFoundError, match="Did you mean 'accuracy'"):
        get_statistic("acuracy")


def test_class_instead_of_object_is_explained():
    with pytest.raises(DtypeError, match=r"Call the class: `TruePositiveRate\(\)`"):
        get_statistic(TruePositiveRate)
    with pytest.raises(DtypeError, match="got 3"):
        get_statistic(3)


def test_plus_makes_a_stack():
    assert len(get_statistic("tpr + ppv").parts) == 2


def test_class_defined_again_takes_its_own_place():
    for answer in (1.0, 2.0):

        class Again(LinearFractionalStatistic, name="again"):
            value = answer

            def nom_intercept(self):
                return self.value

            def denom_intercept(self):
                return 1

    assert get_statistic("again").overall(PROB) == 2


def test_name_of_another_class_is_refused():
    with pytest.raises(StatisticError, match=r"'tpr' is already registered: .*True"):

        class Thief(LinearFractionalStatistic, name="tpr"):
            def denom_intercept(self):
                return 1


def test_name_must_be_a_word():
    with pytest.raises(StatisticError, match="must consist of letters"):

        class Spaced(LinearFractionalStatistic, name="two words"):
            def denom_intercept(self):
                return 1


def test_statistic_without_denominator_is_refused():
    with pytest.raises(StatisticError, match="is a ratio"):

        class Endless(LinearFractionalStatistic):
            def nom_slope(self):
                return 1


def test_unnamed_inputs_are_refused():
    with pytest.raises(StatisticError, match=r"must name its inputs; got `\*args`"):

        class Vague(LinearFractionalStatistic):
            def denom_intercept(self, *args):
                return 1


def test_both_spellings_at_once_are_refused():
    with pytest.raises(StatisticError, match="which are the same"):

        class Twice(LinearFractionalStatistic):
            def nom_slope(self):
                return 1

            def num_slope(self):
                return 1

            def denom_intercept(self):
                return 1


def test_either_spelling_can_be_called():
    torch.testing.assert_close(Accuracy().num_slope(LABEL), 2 * LABEL - 1)


def test_missing_input_is_named():
    with pytest.raises(ArgumentError, match="`label` is required by TruePositiveRate"):
        TruePositiveRate()(PROB, SENS)


def test_misspelt_option_is_not_ignored():
    with pytest.raises(ArgumentError, match="Did you mean 'weight'"):
        TruePositiveRate()(PROB, SENS, LABEL, wieght=LABEL)


def test_coefficient_of_the_wrong_shape_is_named():
    class Wide(LinearFractionalStatistic):
        def denom_intercept(self):
            return torch.ones(3, 2)

    class Wordy(LinearFractionalStatistic):
        def denom_intercept(self):
            return "one"

    with pytest.raises(ShapeError, match=r"Wide.denom_intercept.*got shape \(3, 2\)"):
        Wide()(PROB, SENS)
    with pytest.raises(ShapeError, match="got str"):
        Wordy()(PROB, SENS)


def test_settings_are_checked():
    with pytest.raises(RangeError, match="`beta` must be positive"):
        FScore(-1)
    with pytest.raises(DtypeError, match="`beta` must be a number"):
        FScore("1")
    with pytest.raises(DtypeError, match="`zeta` must be a function"):
        ConditionalPositiveRate(3)
    with pytest.raises(ArgumentError, match="at least one statistic"):
        StackedLinearFractionalStatistic()


def test_reprs_show_the_settings():
    assert repr(FScore(2)) == "FScore(beta=2)"
    assert "region" in repr(ConditionalPositiveRate("region"))
    stack = StackedLinearFractionalStatistic("tpr", "ppv")
    assert repr(stack).endswith("(TruePositiveRate(), PositivePredictiveValue())")


def test_statistics_copy_and_pickle():
    for statistic in (FScore(2), get_statistic("tpr+ppv")):
        for other in (copy.deepcopy(statistic), pickle.loads(pickle.dumps(statistic))):
            torch.testing.assert_close(
                other(PROB, SENS, LABEL), statistic(PROB, SENS, LABEL), equal_nan=True
            )


def test_linear_statistics_have_no_slope_below():
    """Def. 4 is the split between the modules `rates` and `ratios`."""
    for name in ("pr", "tpr", "fpr", "fnr", "tnr", "accuracy"):
        assert not hasattr(get_statistic(name), "denom_slope")
    for name in ("ppv", "fdr", "for", "npv", "fn_fp", "f_score"):
        assert hasattr(get_statistic(name), "denom_slope")


def test_coefficient_must_not_depend_on_groups_or_scores():
    with pytest.raises(StatisticError, match="must not depend on the groups"):

        class Partial(LinearFractionalStatistic):
            def denom_intercept(self, sens):
                return sens[:, 0]


def test_static_functions_are_read_from_their_first_parameter():
    class Plain(LinearFractionalStatistic):
        @staticmethod
        def nom_slope(label):
            return label

        @staticmethod
        def denom_intercept(label):
            return label

    assert torch.equal(
        Plain().overall(PROB, LABEL), TruePositiveRate().overall(PROB, LABEL)
    )

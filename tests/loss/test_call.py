"""The call: the paper's form, the short forms, keywords, and bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from batches import LOSSES, sample
from fairret.errors import (
    ArgumentError,
    DeviceError,
    DtypeError,
    FairretError,
    RangeError,
    ShapeError,
)
from fairret.loss import (
    KLProjectionLoss,
    NormLoss,
    ProjectionLoss,
    SmoothMaxLoss,
    SquaredEuclideanProjectionLoss,
)
from fairret.statistic import (
    ConditionalPositiveRate,
    PositiveRate,
    StackedLinearFractionalStatistic,
    TruePositiveRate,
)

N = 14
LOGIT, SENS, LABEL = sample(N, "three", seed=1).to(torch.float32)
FEAT = torch.arange(N * 2.0).reshape(N, 2)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_every_form_of_the_call_is_the_same(loss_cls):
    loss = loss_cls(TruePositiveRate())
    expected = loss(LOGIT, SENS, LABEL)
    forms = [
        loss(LOGIT, FEAT, SENS, LABEL),
        loss(LOGIT, None, SENS, LABEL),
        loss(LOGIT, sens=SENS, label=LABEL),
        loss(LOGIT, SENS, label=LABEL),
        loss(LOGIT, SENS, LABEL, feat=FEAT),
        loss(label=LABEL, sens=SENS, logit=LOGIT, feat=FEAT),
        loss(pred=LOGIT, sens=SENS, label=LABEL),
        loss(LOGIT[:, None], SENS, LABEL[:, None]),
        loss(LOGIT, SENS.long(), LABEL.bool()),
        loss(LOGIT, SENS.bool(), LABEL.long()),
        loss(LOGIT, SENS, LABEL, weight=torch.ones(N, 1)),
    ]
    for form in forms:
        torch.testing.assert_close(form, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_statistic_that_needs_no_label_goes_without(loss_cls):
    loss = loss_cls(PositiveRate())
    assert loss(LOGIT, SENS) == loss(LOGIT, SENS, LABEL)


def test_further_inputs_arrive_by_name():
    loss = NormLoss(ConditionalPositiveRate("region"))
    region = FEAT[:, 0] > 7
    expected = NormLoss("pr")(LOGIT[region], SENS[region])
    torch.testing.assert_close(loss(LOGIT, SENS, region=region), expected)
    by_feat = NormLoss(ConditionalPositiveRate(lambda feat: feat[:, 0] > 7))
    torch.testing.assert_close(by_feat(LOGIT, FEAT, SENS, LABEL), expected)


def test_stack_gives_each_member_what_it_names():
    stack = StackedLinearFractionalStatistic(
        TruePositiveRate(), ConditionalPositiveRate("region")
    )
    region = FEAT[:, 0] > 7
    got = NormLoss(stack)(LOGIT, SENS, LABEL, region=region)
    expected = NormLoss("tpr")(LOGIT, SENS, LABEL)
    expected = expected + NormLoss(ConditionalPositiveRate("region"))(
        LOGIT, SENS, region=region
    )
    torch.testing.assert_close(got, expected)


BAD = {
    "two classes": ((LOGIT[:, None].repeat(1, 2), SENS, LABEL), ShapeError, "logit"),
    "logits of three dimensions": (
        (LOGIT[:, None, None], SENS, LABEL),
        ShapeError,
        r"`logit` must have shape \(n,\) or \(n, 1\); got \(14, 1, 1\)",
    ),
    "one-hot labels": (
        (LOGIT, SENS, torch.stack((1 - LABEL, LABEL), 1)),
        ShapeError,
        "label.argmax",
    ),
    "a bare column of groups": (
        (LOGIT, SENS[:, 0], LABEL),
        ShapeError,
        r"sens\[:, None\]",
    ),
    "integer groups": (
        (LOGIT, torch.arange(N)[:, None] % 4, LABEL),
        RangeError,
        "values from 0 to 3. One-hot encode",
    ),
    "a standardised trait": (
        (LOGIT, torch.linspace(-2, 2, N)[:, None], LABEL),
        RangeError,
        "scale a continuous one",
    ),
    "no columns": ((LOGIT, SENS[:, :0], LABEL), ShapeError, r"got \(14, 0\)"),
    "fewer groups than rows": (
        (LOGIT, SENS[1:], LABEL),
        ShapeError,
        "`sens` must have n=14 rows.*same batch",
    ),
    "fewer labels than rows": ((LOGIT, SENS, LABEL[1:]), ShapeError, r"got \(13,\)"),
    "labels of -1": ((LOGIT, SENS, 2 * LABEL - 1), RangeError, "from -1 to 1"),
    "NaN logits": ((LOGIT / 0 * 0, SENS, LABEL), RangeError, "must not contain NaN"),
    "NaN labels": ((LOGIT, SENS, LABEL * torch.nan), RangeError, "`label` must not"),
    "NaN groups": (
        (LOGIT, SENS * torch.nan, LABEL),
        RangeError,
        "`sens` must not contain NaN; got it in 14 of 14 rows",
    ),
    "an empty batch": (
        (LOGIT[:0], SENS[:0], LABEL[:0]),
        ShapeError,
        "got an empty batch",
    ),
    "whole-number logits": (
        (LOGIT.long(), SENS, LABEL),
        DtypeError,
        "pred_as_logit=False",
    ),
    "complex logits": (
        (LOGIT + 1j, SENS, LABEL),
        DtypeError,
        "real numbers; got torch.complex64",
    ),
    "a list": (([0.1] * N, SENS, LABEL), DtypeError, "got list. Convert"),
    "sparse logits": (
        (LOGIT.to_sparse(), SENS, LABEL),
        DtypeError,
        r"`logit` must be a dense tensor of real numbers; got torch.float32, "
        r"torch.sparse_coo. "
        r"Convert it with `logit.to_dense\(\)`",
    ),
    "a sparse column of logits": (
        (LOGIT[:, None].to_sparse(), SENS, LABEL),
        DtypeError,
        "got torch.float32, torch.sparse_coo",
    ),
    "sparse labels": (
        (LOGIT, SENS, LABEL.to_sparse()),
        DtypeError,
        r"`label.to_dense\(\)`",
    ),
    "sparse groups": (
        (LOGIT, SENS.to_sparse(), LABEL),
        DtypeError,
        r"`sens.to_dense\(\)`",
    ),
    "labels in words": (
        (LOGIT, SENS, ["yes", "no"] * (N // 2)),
        DtypeError,
        r"`label` must be a tensor of 0 and 1; got list of strings such as 'yes'. "
        r"Compare them .*numpy.asarray\(label\) == 'yes'",
    ),
    "NumPy labels in words": (
        (LOGIT, SENS, np.array(["yes", "no"] * (N // 2))),
        DtypeError,
        "got ndarray of strings such as 'yes'",
    ),
    "a series of labels in words": (
        (LOGIT, SENS, pd.Series([None, "no"] * (N // 2))),
        DtypeError,
        "got Series of strings such as 'no'",
    ),
    "categories of labels": (
        (LOGIT, SENS, pd.Series(["a", "b"] * (N // 2), dtype="category")),
        DtypeError,
        "got Series of strings such as 'a'",
    ),
    "groups in words": (
        (LOGIT, ["woman", "man"] * (N // 2), LABEL),
        DtypeError,
        r"`sens` must be .*'woman'. Encode them with `fairret.sensitive.Sensitive",
    ),
    "the name of a column": (
        (LOGIT, "sex", LABEL),
        DtypeError,
        "`sens` must be .* got the string 'sex'. Encode",
    ),
    "labels before groups": (
        (LOGIT, LABEL, SENS),
        ShapeError,
        r"got \(14,\) and \(14, 9\), so they seem to be swapped. Pass `sens` before",
    ),
    "a column of labels before groups": (
        (LOGIT, FEAT, LABEL[:, None], SENS),
        ShapeError,
        r"got \(14, 1\) and \(14, 9\), so they seem to be swapped.*label.argmax",
    ),
    "NumPy groups": ((LOGIT, SENS.numpy(), LABEL), DtypeError, "got ndarray"),
    "nothing but logits": ((LOGIT,), ArgumentError, "`sens` is required"),
    "no label": ((LOGIT, SENS), ArgumentError, "`label` is required by TruePositive"),
    "five arguments": (
        (LOGIT, FEAT, SENS, LABEL, LABEL),
        ArgumentError,
        "got 4 positional",
    ),
    "groups on another device": (
        (LOGIT, SENS.to("meta"), LABEL),
        DeviceError,
        r"`sens` must be on cpu.*got meta. Move it with `sens.to\('cpu'\)`",
    ),
    "labels on another device": (
        (LOGIT, SENS, LABEL.to("meta")),
        DeviceError,
        "`label` must be on cpu",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("loss_cls", [NormLoss, KLProjectionLoss])
def test_bad_input_is_an_error_that_teaches(loss_cls, case):
    call, error, words = BAD[case]
    with pytest.raises(error, match=words) as caught:
        loss_cls("tpr")(*call)
    message = str(caught.value)
    assert isinstance(caught.value, FairretError)
    assert message.count("`") >= 2  # the argument, in backticks
    assert "; " in message  # requirement; what came
    assert message.count(". ") >= 1  # what to do
    assert message.endswith(".")


def test_nothing_at_all_is_explained():
    with pytest.raises(ArgumentError, match="`logit` is required"):
        NormLoss("pr")()


def test_probabilities_must_be_probabilities():
    with pytest.raises(RangeError, match=r"`prob` must lie in \[0, 1\]"):
        NormLoss("pr")(3 * LOGIT, SENS, pred_as_logit=False)


def test_argument_given_twice_is_an_error():
    with pytest.raises(ArgumentError, match="`sens` must be given once"):
        NormLoss("pr")(LOGIT, SENS, sens=SENS)


def test_negative_weights_are_an_error():
    with pytest.raises(RangeError, match="`weight` must be finite and at least 0"):
        NormLoss("pr")(LOGIT, SENS, weight=LOGIT)
    with pytest.raises(ShapeError, match="`weight` must have shape"):
        NormLoss("pr")(LOGIT, SENS, weight=SENS)


def test_misspelt_option_is_not_ignored():
    with pytest.raises(ArgumentError, match="Did you mean 'weight'"):
        NormLoss("pr")(LOGIT, SENS, weigth=LABEL)


def test_settings_are_checked():
    with pytest.raises(RangeError, match="`p` must be at least 1"):
        NormLoss("pr", p=0.5)
    with pytest.raises(DtypeError, match="`p` must be a number"):
        NormLoss("pr", p="2")
    with pytest.raises(RangeError, match="`sharpness` must be positive"):
        SmoothMaxLoss("pr", sharpness=0)
    with pytest.raises(RangeError, match="`sharpness` must be positive"):
        SmoothMaxLoss("pr")(LOGIT, SENS, sharpness=-2.0)
    with pytest.raises(RangeError, match="'paper' or 'exact'"):
        KLProjectionLoss("pr", gradient="true")
    for max_iter in (0, 2.5, True):
        with pytest.raises(RangeError, match="`max_iter` must be a whole number"):
            KLProjectionLoss("pr", max_iter=max_iter)
    with pytest.raises(RangeError, match="`tol` must be positive"):
        KLProjectionLoss("pr", tol=0)
    with pytest.raises(RangeError, match="`tol` must lie between"):
        KLProjectionLoss("pr", tol=1.5)
    with pytest.raises(ArgumentError, match="Did you mean 'gradient'"):
        KLProjectionLoss("pr", gradeint="exact")
    with pytest.raises(ShapeError, match="`target_statistic` must be one number"):
        NormLoss("pr")(LOGIT, SENS, target_statistic=SENS[0])
    nan = float("nan")
    for target in (nan, torch.tensor(nan), torch.tensor([[float("inf")]])):
        with pytest.raises(RangeError, match="`target_statistic` must be finite; got"):
            NormLoss("pr")(LOGIT, SENS, target_statistic=target)


def test_reprs_show_the_settings():
    assert "p=2, sharpness=5" in repr(NormLoss("tpr", 2, sharpness=5))
    assert "TruePositiveRate()" in repr(NormLoss("tpr"))
    shown = repr(ProjectionLoss("pr", "js", gradient="exact", max_iter=7, tol=1e-4))
    assert "JensenShannon(), gradient='exact', max_iter=7, tol=0.0001" in shown
    assert "gradient='paper'" in repr(SquaredEuclideanProjectionLoss("pr"))


def test_options_of_the_old_solver_are_accepted_with_a_word():
    with pytest.warns(DeprecationWarning, match="has no effect on KLProjectionLoss"):
        loss = KLProjectionLoss("pr", force_proj_normalized=False, solver="SCS")
    assert loss(LOGIT, SENS) == KLProjectionLoss("pr")(LOGIT, SENS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KLProjectionLoss("pr", max_iters=25).max_iter == 25
    with pytest.warns(DeprecationWarning, match="force_proj_normalized"):
        KLProjectionLoss("pr", True)
    with pytest.raises(RangeError, match="`max_iters` must be a whole number"):
        KLProjectionLoss("pr", max_iters="10")
    with pytest.raises(ArgumentError, match="must get its options by keyword"):
        KLProjectionLoss("pr", True, 0.0, 3)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_strength_belongs_to_the_training_loop(loss_cls):
    words = r"`strength` must not be passed to `\w+Loss`; .* \+ strength \* fairret\("
    with pytest.raises(ArgumentError, match=words):
        loss_cls("pr", strength=2.0)
    with pytest.raises(ArgumentError, match="Did you mean 'sharpness'"):
        loss_cls("pr", sharpnes=2.0)


ROWS = 17  # one more than may be chance
PROB = torch.linspace(0, 1, ROWS)
GROUP = torch.ones(ROWS, 1)


@pytest.mark.parametrize("loss_cls", LOSSES)
def test_logits_that_look_like_probabilities_are_told_once(loss_cls):
    loss = loss_cls("pr")
    with pytest.warns(UserWarning, match=r"17 values .* `pred_as_logit=False`") as told:
        loss(PROB, GROUP)
    assert [warning.filename for warning in told] == [__file__]
    loss(PROB, GROUP)  # warnings are errors here


@pytest.mark.parametrize(
    "logit",
    [PROB[1:], PROB - 0.01, PROB + 0.01, PROB * 0 + 0.7, 0.4 * PROB, 1 - 0.4 * PROB],
    ids=["few rows", "below 0", "above 1", "constant", "below half", "above half"],
)
def test_logits_that_may_be_logits_are_not_told(logit):
    NormLoss("pr")(logit, GROUP[: len(logit)])


def test_probabilities_that_are_said_to_be_are_not_told():
    NormLoss("pr")(PROB, GROUP, pred_as_logit=False)


@pytest.mark.compile
def test_nothing_is_told_while_compiling():
    torch._dynamo.reset()
    torch.compile(NormLoss("pr"), fullgraph=True, backend="eager")(PROB, GROUP)

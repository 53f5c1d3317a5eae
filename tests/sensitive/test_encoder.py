"""What `fairret.sensitive` makes of good data (bad data: test_errors.py)."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairret.errors import RangeError
from fairret.sensitive import (
    Binned,
    Categorical,
    Continuous,
    Intersection,
    SensitiveEncoder,
    Soft,
)

MISSING = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT")]


def people():
    return pd.DataFrame(
        {
            "sex": ["m", "f", "m", "m", None, "f", "m"],
            "race": ["b", "w", "w", "b", "w", "a", "w"],
            "age": [30, 20, 70, 50, 45, 33, 29],
            "p_woman": [0.1, 0.9, 0.25, 0.0, 0.5, 1.0, np.nan],
        }
    )


def encode(traits, data, **options):
    encoder = SensitiveEncoder(traits, **options)
    return encoder, encoder.fit_transform(data).tolist()


def test_all_kinds_in_one_list_follow_its_order():
    labels = ["young", "middle", "old"]
    encoder = SensitiveEncoder(
        [
            "sex",
            Categorical("race"),
            Continuous("age"),
            Binned("age", edges=[30, 50], labels=labels),
            Soft("p_woman"),
            Intersection("sex", "race", min_size=2),
        ]
    )
    sens = encoder.fit_transform(people())
    assert encoder.names == (
        *("sex=f", "sex=m", "race=a", "race=b", "race=w", "age"),
        *("age=young", "age=middle", "age=old", "p_woman"),
        *("sex=m × race=b", "sex=m × race=w"),
    )
    assert encoder.traits == {
        "sex": (0, 1),
        "race": (2, 3, 4),
        "age (continuous)": (5,),
        "age (binned at 30, 50)": (6, 7, 8),
        "p_woman": (9,),
        "sex × race": (10, 11),
    }
    assert encoder.dropped == {
        "sex=f × race=a": 1,
        "sex=f × race=b": 0,
        "sex=f × race=w": 1,
        "sex=m × race=a": 0,
    }
    assert sens.dtype == torch.float32
    assert sens.shape == (7, 12)
    assert sens.is_contiguous()
    expected = [0, 1, 0, 1, 0, 0.2, 0, 1, 0, 0.1, 1, 0]
    torch.testing.assert_close(sens[0], torch.tensor(expected))


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, torch.tensor])
def test_a_single_trait_may_be_a_bare_array_of_any_form(form):
    encoder, s = encode("x", form([4, 2, 4]))
    assert encoder.names == ("x=2", "x=4")
    assert s == [[0, 1], [1, 0], [0, 1]]


def test_a_bare_array_without_a_name_is_called_sens():
    assert encode(None, torch.tensor([[True], [False]]))[0].names == (
        "sens=False",
        "sens=True",
    )


def test_a_named_series_is_a_frame_of_one_column():
    assert encode(None, people()["sex"])[0].names == ("sex=f", "sex=m")


def test_a_mapping_and_a_frame_give_the_same_matrix():
    frame = people()
    mapping = {name: frame[name].tolist() for name in frame}
    traits = ["sex", "race", Continuous("age"), Soft("p_woman")]
    assert encode(traits, frame)[1] == encode(traits, mapping)[1]


@pytest.mark.process
def test_the_module_needs_torch_and_numpy_alone():
    code = """if True:
        import sys
        sys.modules["pandas"] = None  # an import of it would raise
        from fairret.sensitive import SensitiveEncoder
        SensitiveEncoder().fit({"sex": ["f", None], "age": [20.5, 30]})
    """
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["u", "t"], ("x=t", "x=u")),
        ([True, False], ("x=False", "x=True")),
        ([7, 3, 7], ("x=3", "x=7")),
        ([7.0, 3.0, np.nan], ("x=3", "x=7")),  # what pandas makes of [7, 3, None]
        ([7, 3, None], ("x=3", "x=7")),
        (np.array([1.5, 2.0, 4.0]), ("x=1.5", "x=2", "x=4")),
        (list(range(20)), tuple(f"x={k}" for k in range(20))),
        (list(range(21)), ("x",)),
        ([str(k) for k in range(21)], tuple(f"x={k}" for k in range(21))),  # text
        (pd.Categorical([3, 1, 2], categories=[2, 3, 1, 0]), ("x=2", "x=3", "x=1")),
        (pd.array([1, None, 2], dtype="Int64"), ("x=1", "x=2")),
        (pd.array([0.5, None, 2], dtype="Float64"), ("x=0.5", "x=2")),
        (pd.array([True, None], dtype="boolean"), ("x=True",)),
        (pd.array(["t", None], dtype="string"), ("x=t",)),
        (np.ma.array([5, 6, 7], mask=[False, True, False]), ("x=5", "x=7")),
        (torch.tensor([0.5, 2.5], dtype=torch.bfloat16), ("x=0.5", "x=2.5")),
        (torch.linspace(0, 1, 21, requires_grad=True), ("x",)),
        (pd.Series(["u", "t"], name=""), ("x=t", "x=u")),
        (pd.Series([True, False, None], dtype=object), ("x=False", "x=True")),
        (["t", 1, None, 0.5], ("x=0.5", "x=1", "x=t")),  # these do not compare
    ],
)
def test_a_bare_name_picks_its_kind_from_the_values(values, names):
    assert encode("x", {"x": values})[0].names == names
    assert encode("x", values)[0].names == names


def test_dates_may_be_groups():
    days = np.array(["2020-02-01", "NaT", "2019-03-01"], dtype="datetime64[ns]")
    encoder, s = encode(Categorical("x"), days)
    assert s == [[0, 1], [0, 0], [1, 0]]
    assert encoder.names[0].startswith("x=2019-03-01")


def test_without_a_list_every_column_is_a_trait():
    data = people().drop(columns="age")
    assert list(encode(None, data)[0].traits) == ["sex", "race", "p_woman"]


def test_columns_may_be_named_by_integers():
    frame = pd.DataFrame([["t", 0.5], ["u", 1.5]])
    assert encode(None, frame)[0].names == ("0=t", "0=u", "1=0.5", "1=1.5")


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize(
    "trait",
    [Categorical("x"), Continuous("x"), Binned("x", [0.5]), Soft("x")],
    ids=lambda trait: type(trait).__name__,
)
def test_a_missing_value_is_in_no_group_and_its_row_stays(trait, missing):
    encoder, s = encode(trait, {"x": [1, missing, 0, 1]})
    assert s[1] == [0] * len(encoder.names)
    assert sum(map(sum, s)) >= 2
    assert len(s) == 4


def test_an_unseen_category_is_in_no_group_if_asked():
    encoder = SensitiveEncoder("race", unseen="none").fit(["b", "w", "b"])
    assert encoder.transform(["w", "other"]).tolist() == [[0, 1], [0, 0]]


def test_a_declared_category_that_does_not_occur_in_training_is_unseen():
    train = pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"])
    encoder = SensitiveEncoder("x", unseen="none").fit({"x": train})
    assert encoder.names == ("x=lo", "x=hi")
    test = pd.Categorical(["mid", "hi", "lo"])
    assert encoder.transform({"x": test}).tolist() == [[0, 0], [0, 1], [1, 0]]


def test_fixed_categories_keep_their_order_and_need_not_occur():
    encoder, s = encode(Categorical("x", categories=["w", "b", "a"]), ["b", "w", "b"])
    assert encoder.names == ("x=w", "x=b", "x=a")
    assert s == [[0, 1, 0], [1, 0, 0], [0, 1, 0]]


def test_two_traits_of_one_column_and_kind_share_their_entry():
    traits = [Categorical("x", categories=["w"]), Categorical("x", categories=["b"])]
    encoder, s = encode(traits, ["b", "w", "b"], unseen="none")
    assert encoder.traits == {"x (categorical)": (0, 1)}
    assert s == [[0, 1], [1, 0], [0, 1]]


def test_a_continuous_trait_is_scaled_by_training_and_clipped_later():
    encoder = SensitiveEncoder(Continuous("age")).fit([20, 60, 30])
    assert encoder.transform([30, 10, 99, 60]).flatten().tolist() == [0.25, 0, 1, 1]


def test_the_range_of_a_continuous_trait_may_be_fixed():
    assert encode(Continuous("x", low=0, high=80), [20, 60])[1] == [[0.25], [0.75]]
    assert encode(Continuous("x", low=0), [20, 80])[1] == [[0.25], [1]]


def test_a_constant_amount_gives_the_overall_statistic():
    encoder, s = encode(Continuous("x"), [3.5, 3.5, None])
    assert s == [[1], [1], [0]]
    assert encoder.transform([9.0, 1.0]).tolist() == [[1], [1]]


def test_bins_are_closed_on_the_left_and_named_by_their_interval():
    encoder, s = encode(Binned("age", [30, 49.5]), [29.9, 30, 49.5, math.inf, 49])
    assert encoder.names == ("age<30", "30<=age<49.5", "age>=49.5")
    assert np.argmax(s, axis=1).tolist() == [0, 1, 2, 2, 1]


def test_memberships_enter_unchanged():
    data = {"p": [0.125, 1, 0], "q": [0.5, True, None]}
    encoder, s = encode(Soft("p", "q"), data)
    assert s == [[0.125, 0.5], [1, 1], [0, 0]]
    assert encoder.traits == {"p, q": (0, 1)}


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1))
def test_one_hot_rows_lead_back_to_their_values(column):
    if all(value is None for value in column):
        return
    encoder = SensitiveEncoder("x")
    sens = encoder.fit_transform({"x": column})
    assert sens.sum(1).tolist() == [value is not None for value in column]
    back = [encoder.names[k] for k in sens.argmax(1).tolist()]
    for value, name in zip(column, back, strict=True):
        assert value is None or name == f"x={value}"


@given(
    train=st.lists(st.floats(-1e300, 1e300), min_size=1),
    test=st.lists(st.floats(allow_infinity=False)),
)
def test_scaled_values_are_in_the_unit_interval_and_keep_their_order(train, test):
    encoder = SensitiveEncoder(Continuous("x")).fit(train)
    both = sorted(train) + test
    s = encoder.transform(both).flatten().numpy()
    assert ((s >= 0) & (s <= 1)).all()
    assert (np.diff(s[: len(train)]) >= 0).all()


@given(st.permutations(range(7)))
def test_the_order_of_rows_changes_nothing_but_the_order_of_rows(order):
    traits = ["sex", Continuous("age"), Intersection("sex", "race")]
    first, s = encode(traits, people())
    second, shuffled = encode(traits, people().iloc[list(order)])
    assert first.names == second.names
    assert shuffled == [s[i] for i in order]


def test_transform_of_the_training_rows_is_what_fit_transform_gave():
    traits = ["sex", "race", Binned("age", [30]), Intersection("race", "sex")]
    encoder = SensitiveEncoder(traits)
    sens = encoder.fit_transform(people())
    torch.testing.assert_close(encoder.transform(people()), sens, rtol=0, atol=0)


def test_no_rows_may_be_transformed():
    encoder = SensitiveEncoder(["sex", Soft("p_woman")]).fit(people())
    assert encoder.transform(people().iloc[:0]).shape == (0, 3)


def test_neither_data_nor_arguments_are_changed():
    traits = ["sex", Binned("age", edges := [30, 50])]
    frame, before = people(), people()
    encoder = SensitiveEncoder(traits).fit(frame)
    edges.append(10)
    traits.append("race")
    encoder.transform(frame)
    encoder.traits.clear()
    assert list(encoder.traits) == ["sex", "age"]
    pd.testing.assert_frame_equal(frame, before)
    assert len(encoder.fit(frame).names) == 5


def test_a_second_fit_forgets_the_first():
    encoder = SensitiveEncoder("x").fit(["t", "u", "v"])
    assert encoder.fit([5, 6]).names == ("x=5", "x=6")


def test_a_fit_that_fails_leaves_the_earlier_one():
    encoder = SensitiveEncoder("x").fit(["t", "u"])
    with pytest.raises(ValueError, match="all missing"):
        encoder.fit([None, None])
    assert encoder.names == ("x=t", "x=u")


@pytest.mark.parametrize(
    "clone", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_copies_encode_alike_and_are_independent(clone):
    traits = ["sex", Continuous("age"), Soft("p_woman"), Intersection("sex", "race")]
    encoder = SensitiveEncoder(traits).fit(people())
    twin = clone(encoder)
    assert twin.names == encoder.names
    assert twin.transform(people()).equal(encoder.transform(people()))
    twin.fit(people().iloc[:3])
    assert twin.names != encoder.names


def test_the_repr_builds_the_encoder_again():
    text = (
        "SensitiveEncoder(['sex', Categorical(column='race', categories=None), "
        "Soft('p', 'q'), Intersection('sex', Binned(column='age', edges=(30.0,), "
        "labels=None), min_size=50)], unseen='none', max_categories=1000)"
    )
    assert repr(eval(text)) == text
    assert repr(SensitiveEncoder()) == (
        "SensitiveEncoder(unseen='error', max_categories=1000)"
    )


def test_missing_values_can_be_marked_as_unknown():
    crossed = Intersection("sex", Soft("p"), min_size=0.1)
    data = {"sex": ["f", None, "m"], "age": [20.0, 30.0, None], "p": [0.2, 0.4, 0.9]}
    traits = ["sex", Continuous("age"), Soft("p"), crossed]
    sens = SensitiveEncoder(traits, missing="nan").fit_transform(data)
    unknown = [[0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1], [0, 0, 1, 0, 0, 0]]
    assert sens.isnan().int().tolist() == unknown
    zeros = SensitiveEncoder(traits).fit_transform(data)
    torch.testing.assert_close(sens.nan_to_num(nan=0.0), zeros)


def test_unknown_way_to_encode_missing_values_is_refused():
    with pytest.raises(RangeError, match='`missing` must be "zero" or "nan"'):
        SensitiveEncoder(missing="drop")

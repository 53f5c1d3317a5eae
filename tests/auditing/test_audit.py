"""An audit equals the metrics on the same rows, wherever these come from."""

import numpy as np
import pandas as pd
import pytest
import torch

import fairret
from fairret.auditing import files, source
from fairret.sensitive import Binned, Categorical, Continuous, Intersection, Soft
from people import DERIVED, SUMS, assert_same, by_rows, people

NOTIONS = ["pr", "tpr", "ppv", "fn_fp", "accuracy", "tpr+fpr"]
AGE = Binned("age", [30, 47.5])
OPTIONS = {"score": "p", "label": "y", "notions": NOTIONS, "threshold": 0.45}


def stored(frame, kind, folder):
    """Put a table where an audit may find it."""
    if kind == "csv":
        frame.to_csv(folder / "people.csv", index=False)
        return folder / "people.csv"
    if kind == "parquet":
        frame.to_parquet(folder / "people.parquet", row_group_size=60)
        return folder / "people.parquet"
    return frame.to_dict("list") if kind == "mapping" else frame


@pytest.fixture
def small_chunks(monkeypatch):
    """Cut 211 rows in six chunks, and their file in a dozen blocks."""
    monkeypatch.setattr(source, "ROWS", 37)
    monkeypatch.setattr(files, "BLOCK", 1 << 10)


@pytest.mark.parametrize("kind", ["frame", "mapping", "csv", "parquet"])
def test_audit_equals_the_metrics_on_the_rows(kind, tmp_path):
    frame = people()
    data = stored(frame, kind, tmp_path)
    found = fairret.audit(data, sensitive=["sex", "race", AGE], **OPTIONS)
    expected = by_rows(frame, ["sex", "race", AGE], NOTIONS, threshold=0.45)
    assert_same(found.results, expected, (*SUMS, *DERIVED))
    assert found.settings.rows == len(frame)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
@pytest.mark.usefixtures("small_chunks")
def test_chunks_change_nothing_even_if_a_category_comes_late(kind, tmp_path):
    frame = people(seed=1)
    assert set(frame["race"][185:]) > set(frame["race"][:185])
    data = stored(frame, kind, tmp_path)
    shares = []
    found = fairret.audit(
        data,
        sensitive=["race", "sex"],
        weight="w",
        bins={"age": [41.25]},
        intersections=[("sex", "age")],
        min_size=7,
        progress=shares.append,
        **OPTIONS,
    )
    traits = ["race", "sex", Intersection("sex", Binned("age", [41.25]))]
    expected = by_rows(frame, traits, NOTIONS, weight="w", threshold=0.45, min_size=7)
    assert_same(found.results, expected)
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_logits_are_squeezed_first():
    frame = people(seed=2)
    frame["p"] = np.log(frame["p"] + 1e-9) - np.log1p(1e-6 - frame["p"])
    frame.loc[3, "p"], frame.loc[4, "p"] = -900.0, 900.0  # exp of these overflows
    found = fairret.audit(frame, sensitive="sex", logits=True, **OPTIONS)
    expected = by_rows(frame, ["sex"], NOTIONS, threshold=0.45, pred_as_logit=True)
    assert_same(found.results, expected)


def crossed(frame, **options):
    """Audit sex by race, with the combinations below 15 rows, and their sizes."""
    found = fairret.audit(
        frame,
        sensitive=["sex", "race"],
        intersections=[("sex", "race")],
        min_size=15,
        **OPTIONS,
        **options,
    )
    sizes = frame.groupby(["sex", "race"]).size()
    small = {f"sex={s} × race={r}": k for (s, r), k in sizes.items() if k < 15}
    assert 0 < len(small) < len(sizes)
    return found, small


@pytest.mark.slow
def test_small_intersections_are_shown_and_not_judged():
    frame = people(seed=3)
    found, small = crossed(frame)
    traits = ["sex", "race", Intersection("sex", "race")]
    expected = by_rows(frame, traits, NOTIONS, threshold=0.45, min_size=15)
    assert_same(found.results, expected)
    assert found.settings.dropped == {}
    groups = found.results["pr"].decisions.groups
    few = {name for name, x in groups.items() if not x.judged}
    assert {name for name in few if "×" in name} == set(small)
    assert all(groups[name].low <= groups[name].high for name in small)


@pytest.mark.slow
def test_small_intersections_are_dropped_and_told_if_there_are_too_many():
    frame = people(seed=3)
    found, small = crossed(frame, max_categories=7)  # 8 combinations
    traits = ["sex", "race", Intersection("sex", "race", min_size=15)]
    expected = by_rows(frame, traits, NOTIONS, threshold=0.45, min_size=15)
    assert_same(found.results, expected)
    assert found.settings.dropped == small
    page = found._repr_html_()
    assert all(name in page for name in small)


def test_traits_of_all_kinds_are_taken():
    frame = people(seed=4).assign(
        f=np.linspace(0, 1, 211), m=lambda x: 1 - x["f"], age=lambda x: x["age"] // 1
    )
    traits = [
        Categorical("race", categories=["late", "b", "a", "c"]),
        Continuous("age"),
        Soft("f", "m"),
        AGE,
    ]
    found = fairret.audit(frame, sensitive=traits, **OPTIONS)
    assert_same(found.results, by_rows(frame, traits, NOTIONS, threshold=0.45))


def test_order_of_the_rows_is_irrelevant():
    frame = people(seed=13)
    options = {"intersections": [("sex", "race")], "min_size": 5, **OPTIONS}
    found, other = (
        fairret.audit(x, sensitive=["sex", "race"], **options)
        for x in (frame, frame.sample(frac=1, random_state=3))
    )
    assert_same(found.results, other.results)


def test_pandas_categories_keep_their_order():
    frame = people(seed=12)
    order = ["late", "b", "c", "nobody", "a"]
    frame["race"] = pd.Categorical(frame["race"], categories=order)
    found = fairret.audit(frame, sensitive="race", **OPTIONS)
    assert_same(found.results, by_rows(frame, ["race"], NOTIONS, threshold=0.45))
    names = found.results["pr"].scores.names
    assert names == ("race=late", "race=b", "race=c", "race=a")


def test_confidence_reaches_the_intervals():
    frame = people(seed=5)
    found = fairret.audit(frame, sensitive="sex", confidence=0.8, **OPTIONS)
    expected = by_rows(frame, ["sex"], NOTIONS, threshold=0.45, confidence=0.8)
    assert_same(found.results, expected)


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
@pytest.mark.usefixtures("small_chunks")
def test_rows_without_score_label_or_weight_are_left_out_and_counted(kind, tmp_path):
    frame = people(seed=6)
    frame.loc[5:9, "p"] = np.nan
    frame["y"] = frame["y"].astype(float)
    frame.loc[8:15, "y"] = np.nan  # two of them have no score either
    frame.loc[16:18, "w"] = np.nan
    frame.loc[100:103, "sex"] = None
    data = stored(frame, kind, tmp_path)
    found = fairret.audit(data, sensitive="sex", weight="w", **OPTIONS)
    kept = frame.drop(index=range(5, 19))
    expected = by_rows(kept, ["sex"], NOTIONS, weight="w", threshold=0.45)
    assert_same(found.results, expected)
    assert found.settings.left == {"score": 5, "label": 6, "weight": 3}
    assert found.settings.missing == {"sex": 4}


def test_without_a_label_only_demographic_parity_is_measured():
    frame = people(seed=7)
    found = fairret.audit(frame, score="p", sensitive="sex", threshold=0.3)
    assert_same(found.results, by_rows(frame, ["sex"], ["pr"], threshold=0.3))
    assert found.settings.label is None


def test_default_notions_are_those_of_the_paper():
    found = fairret.audit(people(), score="p", label="y", sensitive="sex")
    wanted = ["pr", "tpr", "fpr", "ppv", "for", "accuracy", "fn_fp"]
    assert list(found.results) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_decisions_may_take_the_place_of_scores(kind, tmp_path):
    frame = people(seed=8)
    frame["p"] = (frame["p"] > 0.4).astype(int)
    data = stored(frame, kind, tmp_path)
    found = fairret.audit(data, sensitive="race", **OPTIONS)
    assert_same(found.results, by_rows(frame, ["race"], NOTIONS, threshold=0.45))
    assert [model.hard for model in found.settings.models] == [True]
    page = found._repr_html_()
    assert "the decisions" in page
    for absent in ("The same for the scores", "Calibration", "another threshold"):
        assert absent not in page


@pytest.mark.parametrize(
    ("no", "yes", "positive"),
    [
        (False, True, None),
        ("no", "yes", None),
        ("False", "TRUE", None),
        ("N", "y", None),
        (0.0, 1.0, None),
        ("0.0", "1.0", None),  # what pandas writes for 0 and 1 if one is missing
        ("bad", "good", "good"),
        (2, 1, 1),
        (2, 1, "1"),
        (-1, 1, 1),
        ("1.0", "2.0", 2),
    ],
)
@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_labels_may_be_spelled_otherwise(kind, no, yes, positive, tmp_path):
    frame = people(seed=9)
    spelled = frame.assign(y=[yes if y else no for y in frame["y"]])
    data = stored(spelled, kind, tmp_path)
    options = {**OPTIONS, "notions": ["tpr", "ppv"]}  # one that counts each label
    found = fairret.audit(data, sensitive="sex", positive=positive, **options)
    expected = by_rows(frame, ["sex"], options["notions"], threshold=0.45)
    assert_same(found.results, expected)


def test_all_other_labels_count_as_negative_if_the_positive_is_named():
    frame = people(seed=10)
    three = frame.assign(y=frame["y"].map({1: "hired", 0: "no"}))
    three.loc[three.index[three["y"] == "no"][::2], "y"] = "later"
    found = fairret.audit(three, sensitive="sex", positive="hired", **OPTIONS)
    assert_same(found.results, by_rows(frame, ["sex"], NOTIONS, threshold=0.45))
    assert found.settings.positive == "hired"


def test_the_frame_may_have_numbers_as_column_names():
    frame = people(seed=11)
    numbered = pd.DataFrame(dict(enumerate(frame[["y", "p", "sex"]].to_numpy().T)))
    found = fairret.audit(numbered, score="1", label="0", sensitive="2", notions=["pr"])
    expected = by_rows(frame, ["sex"], ["pr"], threshold=0.5)["pr"].decisions
    assert found.results["pr"].decisions.statistic.tolist() == pytest.approx(
        expected.statistic.tolist(),
        rel=1e-12,  # the same sums
    )


PRECISIONS = {
    "float32": lambda x: x.astype(np.float32),
    "Float32": lambda x: pd.array(x, dtype="Float32"),
    "float16": lambda x: x.astype(np.float16),
    "tensor": lambda x: torch.tensor(x, dtype=torch.float32),
    "bfloat16": lambda x: torch.tensor(x, dtype=torch.bfloat16),
}


@pytest.mark.parametrize("kind", ["frame", "parquet"])
@pytest.mark.parametrize("name", PRECISIONS)
def test_scores_are_compared_in_their_own_precision(name, kind, tmp_path):
    p = PRECISIONS[name](np.array([0.3, 0.7, 0.3, 0.3, 0.3, 0.9, 0.1]))
    data = {"sex": list("ffmmmmm"), "p": p}
    if kind == "parquet":
        if isinstance(p, torch.Tensor):
            pytest.skip("no Parquet file holds tensors")
        pd.DataFrame(data).to_parquet(tmp_path / "p.parquet")
        data = tmp_path / "p.parquet"
    found = fairret.audit(data, score="p", sensitive="sex", threshold=0.3)
    metric = fairret.metric.Parity("pr", names=["f", "m"], threshold=0.3)
    pred = p if isinstance(p, torch.Tensor) else torch.tensor(np.asarray(p))
    metric.update(pred, sens=torch.tensor([[1, 0]] * 2 + [[0, 1]] * 5))
    expected = metric.compute().decisions.statistic
    assert expected.tolist() == pytest.approx([1 / 2, 1 / 5], rel=1e-12)
    assert found.results["pr"].decisions.statistic.tolist() == expected.tolist()

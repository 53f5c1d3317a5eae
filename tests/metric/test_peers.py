"""Decisions measured as Fairlearn and scikit-learn measure them."""

import numpy as np
import pytest
import torch
from fairlearn import metrics as fairlearn
from sklearn import metrics as sklearn

from fairret.metric import ParityTable

N = 211
EXACT = 1e-12  # relative: both divide sums of whole numbers in float64
PEERS = {
    "pr": fairlearn.selection_rate,
    "tpr": fairlearn.true_positive_rate,
    "fpr": fairlearn.false_positive_rate,
    "fnr": fairlearn.false_negative_rate,
    "tnr": fairlearn.true_negative_rate,
    "ppv": sklearn.precision_score,
    "accuracy": sklearn.accuracy_score,
    "f_score": sklearn.f1_score,
}
NAMES = ("ann", "bob", "cy", "di")


class Table:
    """Decisions with different rates in four groups of different sizes."""

    def __init__(self, weighted):
        rng = np.random.default_rng(3)
        self.codes = rng.choice(4, N, p=[0.1, 0.2, 0.3, 0.4])
        self.label = (rng.random(N) < 0.3 + 0.1 * self.codes).astype(int)
        lift = 0.3 * self.label - 0.05 * self.codes
        self.decision = (rng.random(N) < 0.4 + lift).astype(int)
        self.weight = 0.2 + rng.random(N) if weighted else None

    def ours(self):
        metric = ParityTable(list(PEERS), names=NAMES, threshold=0.5)
        rows = (self.decision, np.eye(4)[self.codes], self.label)
        weight = None if self.weight is None else torch.from_numpy(self.weight)
        tensors = [torch.from_numpy(row) for row in rows]
        for some in torch.arange(N).split(80):
            w = None if weight is None else weight[some]
            metric.update(*(x[some] for x in tensors), weight=w)
        return metric.compute()

    def theirs(self):
        names = np.array(NAMES)[self.codes]
        weights = {} if self.weight is None else {"sample_weight": self.weight}
        return fairlearn.MetricFrame(
            metrics=PEERS,
            y_true=self.label,
            y_pred=self.decision,
            sensitive_features=names,
            sample_params=dict.fromkeys(PEERS, weights),
        )


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def measured(request):
    table = Table(request.param)
    return table, table.ours(), table.theirs()


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_groups_and_everybody_equal_fairlearns_frame(name, measured):
    _, ours, theirs = measured
    result = ours[name].decisions
    expected = theirs.by_group[name].loc[list(NAMES)].to_numpy()
    np.testing.assert_allclose(result.statistic, expected, rtol=EXACT)
    assert result.overall.item() == pytest.approx(theirs.overall[name], rel=EXACT)
    assert {k: group.count for k, group in result.groups.items()} == {
        k: (np.array(NAMES)[measured[0].codes] == k).sum() for k in NAMES
    }


@pytest.mark.parametrize("name", PEERS)
def test_difference_and_ratio_equal_fairlearns(name, measured):
    _, ours, theirs = measured
    result = ours[name].decisions
    difference, ratio = theirs.difference()[name], theirs.ratio()[name]
    assert result.difference.item() == pytest.approx(difference, rel=EXACT)
    assert result.ratio.item() == pytest.approx(ratio, rel=EXACT)


@pytest.mark.parametrize("name", PEERS)
def test_largest_violation_equals_fairlearns_gap_to_the_overall_value(name, measured):
    _, ours, theirs = measured
    gaps = theirs.by_group[name] / theirs.overall[name] - 1
    result = ours[name].decisions
    largest = gaps.abs().max()
    assert result.max_violation.item() == pytest.approx(largest, rel=1e-11)  # minus 1


def test_demographic_parity_equals_fairlearns_functions():
    table = Table(weighted=False)
    result = table.ours()["pr"].decisions
    given = {"y_true": table.label, "y_pred": table.decision}
    difference = fairlearn.demographic_parity_difference(
        **given, sensitive_features=table.codes
    )
    ratio = fairlearn.demographic_parity_ratio(**given, sensitive_features=table.codes)
    assert result.difference.item() == pytest.approx(difference, rel=EXACT)
    assert result.ratio.item() == pytest.approx(ratio, rel=EXACT)


def test_equalized_odds_equal_fairlearns_functions():
    table = Table(weighted=False)
    metric = ParityTable(["equalized_odds"])
    metric.update(
        torch.from_numpy(table.decision),
        torch.from_numpy(np.eye(4)[table.codes]),
        torch.from_numpy(table.label),
    )
    result = metric.compute()["tpr+fpr"].scores
    given = {"y_true": table.label, "y_pred": table.decision}
    difference = fairlearn.equalized_odds_difference(
        **given, sensitive_features=table.codes
    )
    ratio = fairlearn.equalized_odds_ratio(**given, sensitive_features=table.codes)
    assert result.difference.item() == pytest.approx(difference, rel=EXACT)
    assert result.ratio.item() == pytest.approx(ratio, rel=EXACT)


SCORES = {
    "tpr": sklearn.recall_score,
    "ppv": sklearn.precision_score,
    "accuracy": sklearn.accuracy_score,
    "f_score": sklearn.f1_score,
}


@pytest.mark.parametrize("name", SCORES)
def test_each_group_equals_scikit_learns_score_of_its_rows(name, measured):
    table, ours, _ = measured
    for k, group in enumerate(ours[name].decisions.groups.values()):
        own = table.codes == k
        weight = None if table.weight is None else table.weight[own]
        expected = SCORES[name](
            table.label[own], table.decision[own], sample_weight=weight
        )
        assert group.statistic == pytest.approx(expected, rel=EXACT)

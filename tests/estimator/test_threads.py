"""Threads that would wait for each other are not used."""

import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from fairret.estimator import ToleranceClassifier, threads
from people import people

SEEN = []


class Watched(LogisticRegression):
    """Notes how many threads it may use."""

    def fit(self, X, y, sample_weight=None):
        SEEN.append(max(pool["num_threads"] for pool in threadpool_info()))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(("few", "wanted"), [(threads.FEW_ROWS, 1), (100, 2)])
def test_small_tables_are_fitted_with_one_thread(few, wanted, monkeypatch):
    monkeypatch.setattr(threads, "FEW_ROWS", few)
    SEEN.clear()
    frame = people(300)
    model = ToleranceClassifier(Watched(), max_violation=0.5, informed=True, cv=2)
    with threadpool_limits(2):
        model.fit(frame[["p"]], frame["y"], sensitive_features=frame["sex"])
        after = max(pool["num_threads"] for pool in threadpool_info())
    assert {*SEEN} == {wanted}
    assert after == 2

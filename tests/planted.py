"""Tables with a known answer: a gap between the two largest of six groups."""

import numpy as np
import pandas as pd

# as in COMPAS: two large groups, two of middle size, two rare ones
SIZES = {
    "African-American": 3696,
    "Caucasian": 2454,
    "Hispanic": 637,
    "Other": 377,
    "Asian": 32,
    "Native American": 18,
}
ROWS = sum(SIZES.values())
POSITIVE_RATE = 0.45  # the same in all groups
FALSE_POSITIVE_RATE = {"African-American": 0.42, "Caucasian": 0.24}
TRUE_POSITIVE_RATE = {"African-American": 0.70, "Caucasian": 0.52}


def compas(seed=0):
    """People flagged at rates that differ between the two largest groups.

    Selection and both error rates have a planted gap; the labels have none.
    """
    rng = np.random.default_rng(seed)
    race = np.repeat(list(SIZES), list(SIZES.values()))
    label = rng.random(ROWS) < POSITIVE_RATE
    fpr = np.array([FALSE_POSITIVE_RATE.get(name, 0.31) for name in race])
    tpr = np.array([TRUE_POSITIVE_RATE.get(name, 0.60) for name in race])
    flagged = rng.random(ROWS) < np.where(label, tpr, fpr)
    score = np.where(flagged, rng.uniform(0.51, 1, ROWS), rng.uniform(0, 0.49, ROWS))
    frame = pd.DataFrame(
        {
            "race": race,
            "sex": rng.choice(["f", "m"], ROWS, p=[0.2, 0.8]),
            "score": score.round(3),
            "again": label.astype(int),
        }
    )
    return frame.sample(frac=1, random_state=seed, ignore_index=True)

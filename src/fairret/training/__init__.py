"""Training as in the paper's experiments (Section 4.1, App. D.2)."""

from fairret.training.evaluation import evaluate
from fairret.training.loop import (
    DivergedError,
    Trained,
    TrainingSettings,
    WarmUp,
    score,
    train,
    warm_up,
)
from fairret.training.network import Network
from fairret.training.sampler import StratifiedBatchSampler, rarest_group
from fairret.training.schedule import strength_at
from fairret.training.split import Rows, Split, split_rows

__all__ = [
    "DivergedError",
    "Network",
    "Rows",
    "Split",
    "StratifiedBatchSampler",
    "Trained",
    "TrainingSettings",
    "WarmUp",
    "evaluate",
    "rarest_group",
    "score",
    "split_rows",
    "strength_at",
    "train",
    "warm_up",
]

"""What a memory refuses, and that a refusal changes nothing."""

import pytest
import torch

from batches import sample
from fairret.errors import ShapeError, StateError
from fairret.loss import (
    JensenShannonProjectionLoss,
    KLProjectionLoss,
    NormLoss,
    SmoothMaxLoss,
)


def trained(loss):
    batch = sample(30, "three")
    loss(batch.logit.clone().requires_grad_(), *batch[1:])
    return loss


@pytest.mark.parametrize("loss_cls", [KLProjectionLoss, NormLoss, SmoothMaxLoss])
def test_batch_with_other_columns_leaves_the_memory_as_it_is(loss_cls):
    loss = trained(loss_cls("tpr", memory=500))
    before = {name: x.clone() for name, x in loss.state_dict().items()}
    batch = sample(30, "three", seed=1)
    logit = batch.logit.clone().requires_grad_()
    with pytest.raises(ShapeError, match="same columns in all batches"):
        loss(logit, batch.sens[:, :2], batch.label)
    for name, x in loss.state_dict().items():
        torch.testing.assert_close(x, before[name])


def test_multipliers_of_one_divergence_are_not_loaded_into_another():
    kl = trained(KLProjectionLoss("tpr", memory=500))
    other = JensenShannonProjectionLoss("tpr", memory=500)
    with pytest.raises(StateError, match="same statistic and divergence"):
        other.load_state_dict(kl.state_dict())
    KLProjectionLoss("tpr", memory=500).load_state_dict(kl.state_dict())

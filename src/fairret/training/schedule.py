"""The schedule of the fairness term's strength."""

WARM_UP = 20  # epochs, so that h learns something before it is constrained (App. D.2)


def strength_at(epoch: int, strength: float, warm_up: int = WARM_UP) -> float:
    """Return the strength in an epoch, counted from 0: none during the warm-up."""
    return 0.0 if epoch < warm_up else strength

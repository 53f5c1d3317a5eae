"""When a fairness term counts, and how much."""

WARM_UP = 20  # epochs, so that h learns something before it is constrained (App. D.2)


def strength_at(epoch: int, strength: float, warm_up: int = WARM_UP) -> float:
    """Give the strength in an epoch, the first being 0: none while warming up."""
    return 0.0 if epoch < warm_up else strength

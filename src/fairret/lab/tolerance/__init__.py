"""How well a stated tolerance is kept: rules of :mod:`fairret.control` and peers."""

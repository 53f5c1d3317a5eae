"""0.1.3's module of statistics; they are at :mod:`fairret.statistic` now."""

from fairret.statistic import *  # noqa: F403 -- the same names, at the old address

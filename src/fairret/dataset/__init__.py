"""Data to try fairrets on."""

from fairret.dataset.synthetic import Population, synthetic_population

__all__ = ["Population", "synthetic_population"]

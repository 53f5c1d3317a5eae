"""Estimators beside other packages: default settings, and the code that users write."""

"""Audits of a model's predictions, from a table or a file to a page."""

from fairret.auditing.report import Audit
from fairret.auditing.run import audit

__all__ = ["Audit", "audit"]

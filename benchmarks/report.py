"""Rows of the result, as a Markdown table that also reads well in a terminal."""

import os
import platform
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

import torch

HEAD = ("what", "ours", "baseline", "ratio", "target", "verdict")


class Row(NamedTuple):
    """One measurement."""

    what: str
    ours: str
    baseline: str = "–"
    ratio: str = "–"
    target: str = "–"
    verdict: str = "–"


def duration(seconds: float) -> str:
    """Write a time with three digits."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def verdict(missed: list[str]) -> str:
    """Say whether the target was met, and by how much it was not."""
    return f"missed: {', '.join(missed)}" if missed else "met"


def table(rows: list[Row]) -> str:
    """Align the columns."""
    lines = [HEAD, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEAD))]
    text = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join((text[0], rule, *text[1:]))


def machine(peer: Path) -> str:
    """Describe what the numbers were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    versions = {
        found.name: found.version
        for found in distributions(path=[str(peer)])
        if found.name in ("fairret", "cvxpy", "scs")
    }
    shown = ", ".join(f"{name} {versions[name]}" for name in sorted(versions))
    return (
        f"{_cpu_model()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"{platform.system()} {platform.machine()}; one thread, CPU time; load {load}; "
        f"Python {platform.python_version()}, torch {torch.__version__}; "
        f"released package: {shown or 'not installed'}"
    )


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown CPU"

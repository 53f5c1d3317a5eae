"""Draw docs/architecture.svg from the imports of the package.

    python docs/draw_architecture.py

Rows and arrows follow from the imports; only columns and captions are chosen here. A
row is the longest chain of imports below a package. Arrows that follow from others are
left out, and so are arrows to the shared modules at the bottom. Needs grimp, which
comes with import-linter.
"""

from html import escape
from itertools import permutations
from pathlib import Path

import grimp

SVG = Path(__file__).with_name("architecture.svg")
PACKAGE = Path(__file__).parents[1] / "src" / "fairret"
PLACES = {  # column, caption
    "cli": (0.9, "fairret audit, run, …"),
    "lab": (1.4, "the paper's experiments"),
    "estimator": (0.3, "classifiers for a data frame"),
    "auditing": (0.0, "from a file to a report"),
    "control": (1.9, "rules for a tolerance"),
    "training": (2.22, "network, loop, samplers"),
    "loss": (3.2, "fairness loss terms"),
    "metric": (1.6, "streaming metrics, tests"),
    "projection": (3.2, "two solvers"),
    "sensitive": (0.0, "traits to memberships"),
    "statistic": (1.9, "Def. 2, Eq. 9, Prop. 1"),
    "divergence": (3.2, "KL, JS, SED, TV, χ²"),
}
WIDTH, BOX, HEIGHT, COLUMN, ROW, MARGIN = 860, 178, 50, 203, 98, 16
Edges = set[tuple[str, str]]


def read_imports() -> Edges:
    """Find which part imports which, between the direct children of fairret."""
    graph = grimp.build_graph("fairret", cache_dir=None)
    parts = sorted(child.split(".")[-1] for child in graph.find_children("fairret"))
    return {
        (a, b)
        for a, b in permutations(parts, 2)
        if graph.direct_import_exists(
            importer=f"fairret.{a}", imported=f"fairret.{b}", as_packages=True
        )
    }


def rank(name: str, edges: Edges) -> int:
    """Length of the longest chain of imports from a package down."""
    return max((1 + rank(b, edges) for a, b in edges if a == name), default=0)


def is_implied(edge: tuple[str, str], edges: Edges) -> bool:
    """Whether a longer chain of imports leads to the same package."""
    first, last = edge
    reached, new = set[str](), {b for a, b in edges if a == first and b != last}
    while new:
        reached |= new
        new = {b for a, b in edges if a in new} - reached
    return last in reached


def draw() -> str:
    """Return the picture as SVG."""
    children = {path.stem for path in PACKAGE.iterdir()}
    packages = {
        path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()
    }
    if missing := packages - PLACES.keys():
        raise KeyError(f"PLACES lacks {', '.join(sorted(missing))}: add a column.")
    drawn = {name: place for name, place in PLACES.items() if name in children}
    modules = sorted(
        path.stem
        for path in PACKAGE.glob("*.py")
        if path.stem not in drawn and not path.stem.startswith("__")
    )
    edges = {(a, b) for a, b in read_imports() if a in drawn and b in drawn}
    top = max(rank(name, edges) for name in drawn)

    def corner(name: str) -> tuple[int, int]:
        x, y = drawn[name][0] * COLUMN, (top - rank(name, edges)) * ROW
        return MARGIN + round(x), MARGIN + y

    lines = [
        _arrow(corner(a), corner(b))
        for a, b in sorted(edges)
        if not is_implied((a, b), edges)
    ]
    boxes = [
        _box(*corner(name), BOX, name, caption)
        for name, (_, caption) in sorted(drawn.items())
    ]
    bottom = MARGIN + top * ROW + HEIGHT + 34
    names = ", ".join(modules)
    boxes.append(_box(MARGIN, bottom, WIDTH - 2 * MARGIN, "shared modules", names))
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {WIDTH} {bottom + HEIGHT + MARGIN}" width="{WIDTH}" '
            'font-family="Helvetica, Arial, sans-serif" text-anchor="middle">',
            "<title>The packages of fairret; an arrow means imports</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" '
            'markerWidth="9" markerHeight="9" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#5b6b7d"/></marker></defs>',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *lines,
            *boxes,
            "</svg>",
            "",
        ]
    )


def _arrow(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Draw a line from the lower edge of one box to the upper edge of another."""
    slope = (end[0] - start[0]) / (end[1] - start[1])
    shift = max(-BOX // 3, min(BOX // 3, round(slope * HEIGHT)))
    x1, x2 = start[0] + BOX // 2 + shift, end[0] + BOX // 2 - shift
    return (
        f'<line x1="{x1}" y1="{start[1] + HEIGHT}" x2="{x2}" y2="{end[1] - 2}" '
        'stroke="#5b6b7d" stroke-width="1.5" marker-end="url(#tip)"/>'
    )


def _box(x: int, y: int, width: int, name: str, caption: str) -> str:
    centre = x + width // 2
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="6" '
        'fill="#eaf1fa" stroke="#1f5fa8"/>'
        f'<text x="{centre}" y="{y + 21}" font-size="16" font-weight="bold" '
        f'fill="#14365e">{escape(name)}</text>'
        f'<text x="{centre}" y="{y + 39}" font-size="13" fill="#333333">'
        f"{escape(caption)}</text>"
    )


if __name__ == "__main__":
    SVG.write_text(draw(), encoding="utf-8")

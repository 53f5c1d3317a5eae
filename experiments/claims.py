"""Recompute every number of docs/reproduction.md from the tables in `results`.

    python experiments/claims.py            compare, and show what differs
    python experiments/claims.py --write    write the page

The page is rendered from `experiments/reproduction.md.jinja`, where each number is a
call of a function in `claim_numbers.py` or in the classes that it extends. Conclusions
in words are in `holds`, with conditions on the numbers; it raises if one is not true.
"""

import argparse
import difflib
import sys
import textwrap
from pathlib import Path

import jinja2
from claim_numbers import Numbers
from claim_words import (
    clearly_more,
    counts,
    direction,
    holds,
    last_number,
    number,
    p_words,
    share,
)

ROOT = Path(__file__).parents[1]
TEMPLATE = Path(__file__).with_name("reproduction.md.jinja")
PAGE = ROOT / "docs" / "reproduction.md"
README = ROOT / "README.md"
WIDTH = 100


def render(template: str, numbers: Numbers) -> str:
    """Fill in the numbers, and wrap the lines again."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    environment.globals |= numbers.functions()
    environment.globals |= {
        "holds": holds,
        "clearly_more": clearly_more,
        "p_words": p_words,
    }
    environment.filters |= {
        "number": number,
        "counts": counts,
        "direction": direction,
        "share": share,
        "last_number": last_number,
    }
    text = environment.from_string(template).render()
    blocks = [wrap(block.strip("\n")) for block in text.split("\n\n") if block.strip()]
    return "\n\n".join(blocks) + "\n"


def wrap(block: str) -> str:
    """Wrap a paragraph, or the items of a list; others are left alone."""
    if block.startswith(("|", "#", "!", "    ", "[sentence")):
        return block
    if "|---" in block:
        raise ValueError(f"A table must have empty lines around it: {block[:80]!r}")
    items = ["- " + item for item in block[2:].split("\n- ")]
    if not block.startswith("- "):
        items = [block]
    indent = "  " if block.startswith("- ") else ""
    return "\n".join(
        textwrap.fill(
            " ".join(item.split()),
            WIDTH,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in items
    )


def sentence_of(template: str, numbers: Numbers) -> str:
    """Render the README's sentence, which is a comment at the top of the template."""
    text = template.split("{# README:")[1].split("#}")[0]
    return " ".join(render(text, numbers).split())


def main(arguments: list[str]) -> int:
    """Compare or write; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the page")
    given = parser.parse_args(arguments)
    template, numbers = TEMPLATE.read_text(encoding="utf-8"), Numbers(ROOT / "results")
    page = render(template, numbers)
    if given.write:
        PAGE.write_text(page, encoding="utf-8")
    differences = [
        *difflib.unified_diff(
            PAGE.read_text(encoding="utf-8").splitlines(),
            page.splitlines(),
            *("docs/reproduction.md", "recomputed"),
            lineterm="",
            n=0,
        )
    ]
    sentence = sentence_of(template, numbers)
    if sentence not in " ".join(README.read_text(encoding="utf-8").split()):
        differences.append(f"README.md does not have: {sentence}")
    print("\n".join(differences) or "All numbers are those of the results.")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

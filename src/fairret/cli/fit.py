"""`fairret fit`: from a table to a model whose decisions keep a tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairret.auditing.report import check_target, write_whole
from fairret.checks import check_share
from fairret.cli.cells import TEXT
from fairret.cli.options import (
    Bins,
    DataFile,
    Decimal,
    Delimiter,
    Encoding,
    File,
    Missing,
    Number,
    Option,
    Positive,
    Sensitive,
    Texts,
    Unfavourable,
    Weight,
    read_bins,
    read_delimiter,
)
from fairret.cli.saved import check_name, dump_model
from fairret.cli.table import CsvFormat, read_table
from fairret.console import emit, error_exit, noted, steps
from fairret.control.find import BAND
from fairret.errors import ArgumentError, FairretError, ToleranceError
from fairret.sensitive import Binned, Categorical
from fairret.sensitive.resolve import TraitLike

if TYPE_CHECKING:
    from fairret.auditing import Audit
    from fairret.estimator import ToleranceClassifier

MISSED = 1


def command(
    data: DataFile,
    label: Annotated[str, Option(help="Column of outcomes, of two values.")],
    sensitive: Sensitive,
    notion: Annotated[
        Texts,
        Option(
            help="What should be equal, such as tpr or equal_opportunity; repeat for "
            "several. Default: demographic_parity."
        ),
    ] = None,
    max_violation: Annotated[
        Number,
        Option(
            help="Tolerance: the largest relative distance of a group from the overall "
            "value, as in 0.1 for 10%, the default."
        ),
    ] = None,
    max_difference: Annotated[
        Number,
        Option(help="Tolerance: the largest difference of two groups of a trait."),
    ] = None,
    min_ratio: Annotated[
        Number,
        Option(
            help="Tolerance: the smallest ratio of two groups of a trait; 0.8 is the "
            "four-fifths rule."
        ),
    ] = None,
    informed: Annotated[
        bool,
        Option(
            "--informed",
            help="Decide with the sensitive traits of a person, which `predict` then "
            "needs.",
        ),
    ] = False,
    confidence: Annotated[
        Number,
        Option(
            help="Keep the tolerance in the population with this confidence, as in "
            "0.95. It costs accuracy."
        ),
    ] = None,
    positive: Positive = None,
    unfavourable: Unfavourable = False,
    bins: Bins = None,
    weight: Weight = None,
    drop: Annotated[
        Texts, Option(help="Column that is no feature, such as a name; repeat.")
    ] = None,
    category: Annotated[
        Texts,
        Option(help="Column of codes that look like numbers, such as zip; repeat."),
    ] = None,
    threshold: Annotated[
        float, Option(help="Probability from which a yes pays off.")
    ] = 0.5,
    min_rate: Annotated[
        float, Option(help="How much of the yes, and of the no, must remain.")
    ] = BAND,
    strict: Annotated[
        bool,
        Option("--strict", help="Do not widen the tolerance of small groups."),
    ] = False,
    folds: Annotated[int, Option(help="Number of folds.", min=2)] = 5,
    seed: Annotated[int, Option(help="Seed of folds and models.")] = 0,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = ".",
    missing: Missing = None,
    model: Annotated[
        File, Option(help="Write the model here, as a file of skops.")
    ] = None,
    report: Annotated[
        File, Option(help="Write a page here: decisions before and after, audited.")
    ] = None,
) -> None:
    """Train a classifier whose decisions keep groups within a tolerance.

    It is gradient boosting on all columns but the label, the weights and the sensitive
    traits, with a rule for decisions. The numbers are those of rows that a model has
    not seen (cross-fitting).

    Exit codes: 0 done; 1 the tolerance was missed (files are written), or cannot be
    kept or assured (nothing is); 2 the file, the options or the output are invalid.
    """
    try:
        _check_targets(data, model, report)
        for name, share in (("confidence", confidence), ("threshold", threshold)):
            if share is not None:
                check_share(name, share)
        with steps() as step, noted() as notes:
            step(f"Reading {data.name}")
            written = CsvFormat(
                read_delimiter(delimiter), encoding, decimal, tuple(missing or ())
            )
            table = read_table(data, written, dict.fromkeys(category or (), TEXT))
            table.check(category or (), "--category")
            cuts = read_bins(bins)
            table.check(list(cuts), "--bins")
            rows = table.split(
                label,
                sensitive,
                weight=weight,
                drop=drop or (),
                cuts=list(cuts),
                codes=category or (),
            )
            classifier = _classifier(
                notion=notion,
                sensitive=_traits(sensitive, cuts, category or ()),
                max_violation=max_violation,
                max_difference=max_difference,
                min_ratio=min_ratio,
                informed=informed,
                confidence=confidence,
                threshold=threshold,
                min_rate=min_rate,
                adapt=not strict,
                pos_label=table.label_value(label, positive),
                cv=folds,
                random_state=seed,
            )
            step(f"Fitting {folds} models on {len(rows.y):,} rows")
            classifier.fit(
                rows.X,
                rows.y,
                sensitive_features=rows.traits,
                sample_weight=rows.weight,
            )
            step("Trying other tolerances")
            text = _describe(classifier)
            step("Writing")
            content = None if model is None else dump_model(classifier)  # may fail
            if report is not None:
                page = _page(classifier, data, favourable=not unfavourable)
                page.to_html(report)
            if model is not None and content is not None:
                write_whole(model, content)
        emit("\n\n".join((*rows.notes, *notes, text)))
        for what, target in (("Model", model), ("Report", report)):
            if target is not None:
                typer.echo(f"{what} written to {target}", err=True)
    except ToleranceError as error:
        typer.echo(f"fairret: {error} Nothing was written.", err=True)
        raise typer.Exit(MISSED) from error
    except (FairretError, ValueError, OSError) as error:  # scikit-learn's are values
        error_exit(error)
    if classifier.status_ != "met":
        near = classifier.solution_.met_on_rows
        said = "is not assured" if near else "was missed"
        typer.echo(f"fairret: The tolerance {said}; see above.", err=True)
        raise typer.Exit(MISSED)


def _classifier(notion: Texts, **options: object) -> ToleranceClassifier:
    from fairret.estimator import ToleranceClassifier

    named = {} if not notion else {"notion": notion[0] if not notion[1:] else notion}
    return ToleranceClassifier(**named, **options)  # type: ignore[arg-type]


def _describe(classifier: ToleranceClassifier) -> str:
    """Write the report, the certificate and the curve."""
    yes, no = classifier.classes_[:: 1 if not classifier._positive else -1]
    return "\n\n".join(
        (
            f"A yes is {str(yes)!r}, a no is {str(no)!r}.",
            classifier.report_,
            str(classifier.certificate_),
            str(classifier.tradeoff_),
        )
    )


def _traits(
    sensitive: Sequence[str],
    cuts: Mapping[str, Sequence[float]],
    codes: Sequence[str],
) -> list[TraitLike]:
    """Cut the traits that are to be cut; codes are no amounts.

    Raises:
        ArgumentError: If another column is to be cut.
    """
    for name in cuts:
        if name not in sensitive or name in codes:
            raise ArgumentError(
                f"`--bins` must be of a column that `--sensitive` names, and "
                f"`--category` does not; got {name!r}."
            )
    special: dict[str, TraitLike] = {x: Categorical(x) for x in codes}
    special |= {x: Binned(x, edges) for x, edges in cuts.items()}
    return [special.get(x, x) for x in dict.fromkeys(sensitive)]


def _page(classifier: ToleranceClassifier, data: Path, *, favourable: bool) -> Audit:
    """Audit the decisions, out of fold, under the name of the file."""
    found = classifier._audit_fit(favourable=favourable)
    settings = replace(
        found.settings, name=f"decisions about {data.name}", source=data.name
    )
    return replace(found, settings=settings)


def _check_targets(data: Path, model: File, report: File) -> None:
    """Refuse files that cannot be written, before anything is computed."""
    if model is not None:
        check_name(model)
    for target in (model, report):
        if target is not None:
            check_target(target, [data])
    if model is not None and report is not None and model.resolve() == report.resolve():
        raise ArgumentError(
            f"`--model` and `--report` must be two files; got {model} for both."
        )

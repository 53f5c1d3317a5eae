"""Save and load fitted classifiers without pickle, which can run any code."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from fairret.auditing.report import check_target, write_whole
from fairret.errors import DataFileError, DtypeError, missing_extra
from fairret.sensitive.coded import listing

# What a file may contain besides what skops trusts: our classes that hold plain data,
# and the trees of scikit-learn.
TRUSTED = re.compile(
    r"fairret\.(control|estimator|sensitive)\.(\w+\.)+_?[A-Z]\w*"
    r"|sklearn\.ensemble\._hist_gradient_boosting\.predictor\.TreePredictor"
    r"|sklearn\.tree\._tree\.Tree"
    r"|pandas(\._libs\.interval)?\.Interval"
)


def save(classifier: Any, path: str | Path) -> Path:
    """Write a fitted classifier to a file, completely or not at all.

    The people of the fit are not saved.

    Args:
        classifier: A fitted classifier of :mod:`fairret.estimator`.
        path: The file, by habit with the suffix `.skops`.

    Raises:
        DtypeError: If a part of the classifier cannot be saved.
        NotFittedError: If it is not fitted.
    """
    check_target(Path(path), [])
    if not hasattr(classifier, "predict"):
        raise DtypeError(
            "`classifier` must be a fitted classifier; got "
            f"{type(classifier).__name__}."
        )
    check_is_fitted(classifier)
    return write_whole(Path(path), to_bytes(classifier))


def load(path: str | Path, *, trusted: Iterable[str] = ()) -> Any:
    """Read a classifier from a file of :func:`save` or `fairret fit`.

    Nothing in the file is run.

    Args:
        path: The file.
        trusted: Names of types that you trust besides those of fairret and
            scikit-learn, such as those of another library in a pipeline.

    Raises:
        DataFileError: If the file is none of :func:`save`, or has types that are not
            trusted.
        OSError: If the file does not exist, or must not be read.
    """
    found = from_bytes(Path(path).read_bytes(), Path(path).name, trusted)
    # `fairret fit` also saves how to read the columns of a file
    return found["classifier"] if isinstance(found, dict) else found


def to_bytes(content: Any) -> bytes:
    """Return the content of a file.

    Raises:
        DtypeError: If a part of it cannot be saved.
    """
    skops = load_skops()
    try:
        return _round_trip(skops, content)
    except Exception as error:
        raise DtypeError(
            f"The classifier cannot be saved with skops{_culprit(skops, content)}: "
            f"{error}. Replace lambdas and local classes. Or save your model in its "
            "own format, load it there, and fit the rule again with `prefit=True`. Or "
            "use `pickle`: then only those who trust the file should load it."
        ) from error


def _culprit(skops: Any, content: Any) -> str:
    """Name the models of a classifier that skops cannot save."""
    own = content.get("classifier") if isinstance(content, dict) else content
    models = getattr(own, "models_", None)
    parts = [*getattr(models, "estimators", ()), getattr(own, "group_estimator", None)]
    parts += [step for _, step in getattr(own, "steps", ())]
    found = [type(part).__name__ for part in parts if not _can_save(skops, part)]
    return f", because of its {', '.join(dict.fromkeys(found))}" if found else ""


def _can_save(skops: Any, part: Any) -> bool:
    try:
        _round_trip(skops, part)
    except Exception:  # skops and the part may raise anything
        return False
    return True


def _round_trip(skops: Any, content: Any) -> bytes:
    """Write and read: not all that can be written can be read, as a lambda."""
    data = bytes(skops.dumps(content))
    skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    return data


def from_bytes(data: bytes, name: str, trusted: Iterable[str] = ()) -> Any:
    """Read the content of a file, called `name` in messages.

    Raises:
        DataFileError: If it cannot be read, or has types that are not trusted.
    """
    skops = load_skops()
    allowed = set(trusted)
    try:
        asked = skops.get_untrusted_types(data=data)
        strange = [x for x in asked if x not in allowed and not TRUSTED.fullmatch(x)]
        if not strange:
            return skops.loads(data, trusted=asked)
    except Exception as error:
        raise DataFileError(
            f"{name} is not a model of this version of fairret, or is damaged "
            f"({type(error).__name__}). Models in pickle files are not read."
        ) from error
    raise DataFileError(
        f"{name} contains types that are not trusted: {listing(strange)}. If you trust "
        "its author, load it in Python with `fairret.estimator.load` and name them as "
        "`trusted`."
    )


def load_skops() -> Any:
    """Import skops, which is an extra."""
    try:
        import skops.io
    except ImportError:
        raise missing_extra("A model file needs", "skops", "sklearn") from None
    return skops.io

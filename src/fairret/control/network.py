"""From a trained network, its data and a tolerance to one module that decides."""

import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial

from torch import nn

from fairret.control.boosting import BoostedGroups
from fairret.control.certify import read_notion
from fairret.control.find import BAND, find_rule
from fairret.control.loading import Data, Unpack, load_people
from fairret.control.network_fit import GROUP_MODELS, GroupModel, NetworkFit, Sample
from fairret.control.rule_module import Choice, Comparison, RuleModule
from fairret.errors import ArgumentError, DtypeError, RangeError, did_you_mean
from fairret.statistic.base import LinearFractionalStatistic


def control_network(
    network: nn.Module,
    data: Data,
    *,
    notion: LinearFractionalStatistic | str | Sequence[str] = "pr",
    max_violation: float | Mapping[str, float] | None = None,
    max_difference: float | None = None,
    min_ratio: float | None = None,
    informed: bool = False,
    q: GroupModel = "network",
    refit: bool | nn.Module | None = None,
    recalibrate: bool = True,
    fit_rows: Data | None = None,
    unpack: Unpack | None = None,
    names: Sequence[str] | None = None,
    traits: Mapping[str, Sequence[int]] | Sequence[Sequence[int]] | None = None,
    threshold: float = 0.5,
    min_rate: float = BAND,
    adapt: bool = True,
    confidence: float | None = None,
    compare: bool = True,
    seed: int = 0,
) -> RuleModule:
    r"""Make the most accurate module whose decisions keep a tolerance.

    The network stays as it is: the module holds a copy. A blind rule decides without
    sensitive traits; it estimates :math:`q(x, y) = E[S \mid x, y]` from the features.
    An informed rule takes S when it decides.

    Args:
        network: A trained module that maps features to one logit, `(n,)` or `(n, 1)`.
            It should have been trained with early stopping, or `fit_rows` be given.
        data: Tensors `(feat, sens, label)` or `(feat, sens, label, weight)`, a mapping
            with these keys, or a `Dataset` or `DataLoader` that yields either. `sens`
            is `(n, d_s)`, in [0, 1], NaN where a trait is missing. All rows are read
            into memory.
        notion: Which statistics should be equal: a name, names, or a statistic of
            labels and decisions.
        max_violation: Tolerance; see :class:`Tolerance` for the three forms.
        max_difference: Tolerance within a trait.
        min_ratio: Tolerance within a trait; 0.8 is the four-fifths rule.
        informed: Whether S is an input of decisions.
        q: How a blind rule estimates memberships. "network" trains one with hidden
            layers of 64 and 32. "head" trains linear heads on the last hidden layer of
            the network, which cost next to nothing; decisions are a few points less
            accurate, because that layer forgets what the label does not need.
            "boosting" uses scikit-learn on two folds: best for true positive rates, but
            the result cannot be compiled or exported. A module of your own, features
            to `(n, 2 d_s)` logits (y = 0, then y = 1), is trained in a copy. A blind
            rule for the same people lends its own, as for another tolerance.
        refit: Whether to train a second network on the combined target and to average
            both margins, if that is more accurate on the fit rows. It takes the time
            of another forward pass. A module of your own, features to `(n,)`, is
            trained in a copy. On by default for blind rules, and for them only.
        recalibrate: Whether an informed rule first recalibrates the scores given S.
            Turn it off if the network takes S among its features.
        fit_rows: Rows to fit the rule on, if not on `data`; in the same forms.
        unpack: Turns what a loader yields into `(feat, sens, label[, weight])`.
        names: Names of the groups.
        traits: Which columns of `sens` belong to the same trait.
        threshold: Score from which a yes pays off without a tolerance.
        min_rate: How much of the positive rate, and of the negative rate, must remain.
        adapt: Whether small groups get a tolerance of at least two standard errors, and
            more if a blind rule cannot tell who they are.
        confidence: Confidence that the tolerance also holds in the population.
        compare: Whether to solve for the other choice, blind or informed, too.
        seed: Of the networks that are trained here.

    Returns:
        The module, with `solution`, `comparison` and `report`. A tolerance that is not
        met is also a warning.

    Raises:
        ArgumentError: If options contradict each other.
        ShapeError: If the network returns several outputs, or data do not fit.
        RangeError: If scores are constant, or a value is out of range.

    Example:
        >>> import torch
        >>> seed = torch.Generator().manual_seed(0)
        >>> group = torch.randint(2, (2000,), generator=seed)
        >>> feat = torch.randn(2000, 3, generator=seed) + 0.8 * group[:, None]
        >>> label = (feat.sum(1) + torch.randn(2000, generator=seed) > 1).float()
        >>> sens = torch.nn.functional.one_hot(group, 2).float()
        >>> network = torch.nn.Linear(3, 1)  # trained, in real life
        >>> _ = torch.nn.init.ones_(network.weight), torch.nn.init.ones_(network.bias)
        >>> rule = control_network(network, (feat, sens, label), max_violation=0.1)
        >>> rule.solution.status
        'met'
        >>> decision, margin = rule(feat)
    """
    statistic = read_notion(notion)
    _check_options(network, statistic, informed, q, refit)
    copy = deepcopy(network).requires_grad_(False).eval()
    people = load_people(data, unpack)
    train = Sample.score(copy, people, names, traits)
    fit = train
    if fit_rows is not None:
        people = load_people(fit_rows, unpack, "fit_rows")
        fit = Sample.score(copy, people, names, traits)
    find = partial(
        find_rule,
        notion=statistic,
        max_violation=max_violation,
        max_difference=max_difference,
        min_ratio=min_ratio,
        names=names,
        traits=traits,
        threshold=threshold,
        min_rate=min_rate,
        adapt=adapt,
        confidence=confidence,
    )
    wanted = not informed if refit is None else refit
    steps = NetworkFit(copy, train, fit, find, q, wanted, recalibrate, seed)
    module = steps.informed() if informed else steps.blind()
    assert module.solution is not None
    if module.solution.status != "met":
        reached, _, *more = str(module.solution).splitlines()
        warnings.warn(" ".join((reached, *more[:1])), stacklevel=2)
    if compare:
        module.comparison = _compare(module, steps)
    module.report = _describe(module)
    return module


def _check_options(
    network: nn.Module,
    statistic: LinearFractionalStatistic,
    informed: bool,
    q: GroupModel,
    refit: bool | nn.Module | None,
) -> None:
    if not isinstance(network, nn.Module):
        raise DtypeError(
            f"`network` must be an nn.Module; got {type(network).__name__}. For scores "
            "of any other model, use `find_rule`."
        )
    needed = statistic.inputs - {"label"}
    if needed:
        raise ArgumentError(
            "`notion` must be a statistic of labels and decisions alone; "
            f"{type(statistic).__name__} needs {', '.join(sorted(needed))} too. Use "
            "`find_rule` with scores instead."
        )
    if not isinstance(q, nn.Module) and q not in GROUP_MODELS:
        raise ArgumentError(
            f"`q` must be one of {', '.join(map(repr, GROUP_MODELS))}, or a module; "
            f"got {q!r}.{did_you_mean(q, GROUP_MODELS)}"
        )
    if isinstance(q, RuleModule) and not _can_lend(q):
        raise ArgumentError(
            "`q` must be a blind rule whose memberships come from a network on the "
            'features; this one is informed, or was built with `q="head"` or '
            '`q="boosting"`. Name how to estimate them instead.'
        )
    if informed and refit not in (None, False):
        raise ArgumentError(
            "`refit` is for blind rules; an informed rule knows the groups. Leave "
            "`refit` out, or pass `informed=False`."
        )


def _can_lend(rule: RuleModule) -> bool:
    """Whether the memberships of a rule need the features alone, and no folds."""
    folds = isinstance(rule.groups, BoostedGroups)
    return not (rule.informed or folds or rule.tap is not None)


def _compare(module: RuleModule, steps: NetworkFit) -> Comparison | None:
    """Solve for the other choice; None if its rows do not suffice."""
    assert module.solution is not None
    own = Choice.summarise(module.solution)
    other = replace(steps, refit=True) if module.informed else steps
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the same rows as those that were shown
        try:
            found = (other.blind() if module.informed else other.informed()).solution
        except RangeError:  # a confidence that only the first choice can give
            return None
    assert found is not None
    both = own, Choice.summarise(found)
    return Comparison(*(both[::-1] if module.informed else both))


def _describe(module: RuleModule) -> str:
    lines = [str(module.solution)]
    if module.refit is not None:
        lines.append("Margins are averaged with those of a refitted network.")
    if module.comparison is not None:
        lines.append(f"Accuracy if {module.comparison}.")
    return "\n".join(lines)

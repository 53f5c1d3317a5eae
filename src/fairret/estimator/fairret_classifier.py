"""A network that is trained with a fairret, with scikit-learn's contract."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from fairret.control.find import BAND
from fairret.errors import NameNotFoundError
from fairret.estimator.base import ParameterError, check_bool, find_notion
from fairret.estimator.folds import deal_folds
from fairret.estimator.linear_rule import LinearRule
from fairret.estimator.network_models import NetworkModels, fit_alone, fit_folds
from fairret.estimator.networks import Module, Recipe
from fairret.estimator.options import check_count, check_number, find_device
from fairret.estimator.rule_classifier import RuleClassifier
from fairret.loss import FairnessLoss, NormLoss, ViolationLoss
from fairret.loss.registry import make_loss
from fairret.metric.studentised_test import MIN_SIZE
from fairret.sensitive.resolve import TraitLike
from fairret.statistic.base import LinearFractionalStatistic
from fairret.statistic.registry import get_name

WARM_UP = 0.2  # of the epochs, as in the paper
MEMORY = 4096  # rows
MANY = 2 * MEMORY
# A projection is quadratic in the gap, and a norm is a sum over the groups.
STRENGTHS: dict[type, float] = {NormLoss: 0.1, ViolationLoss: 0.3, FairnessLoss: 10.0}
LEAST = {"memory": 0, "batch_size": 1, "warm_up": 0, "patience": 1}  # or None


class FairretClassifier(RuleClassifier):
    r"""A network trained with a fairret: cross-entropy plus strength times the fairret.

    Columns of text are encoded one-hot, numbers are standardised, and missing values
    are allowed. With a tolerance, one network per fold is trained, and decisions follow
    the rule of :class:`ToleranceClassifier`.

    Args:
        module: What to train: an `nn.Module` that maps inputs, `(n, d)` in float32, to
            one logit, which is copied; or a function of d that makes one. By default,
            the network of the paper, with hidden layers of 256, 128 and 32.
        loss: The fairret: "kl", "js", "sed", "chi2", "norm" or "smoothmax", or an
            object of :mod:`fairret.loss` for the same notion, with its own memory.
        notion: What should be equal: a name such as "demographic_parity",
            "equal_opportunity" or "equalized_odds", the name of a statistic such as
            "tpr", a list of names, or a statistic.
        strength: Factor of the fairret; 0 trains without it. By default 10 for
            projections, 0.3 for "smoothmax" and 0.1 for "norm"; 0 with a tolerance.
        max_violation: Tolerance of the rule; by default there is none. See
            :class:`ToleranceClassifier` for the three forms.
        max_difference: Tolerance within a trait.
        min_ratio: Tolerance within a trait; 0.8 is the four-fifths rule.
        sensitive: Which traits to compare, as names of columns or as traits of
            :mod:`fairret.sensitive`. They are columns of `sensitive_features` or, if
            `fit` gets none, of `X`; a blind classifier removes them from the features.
            By default, all columns of `sensitive_features`.
        informed: Whether decisions use the traits of a person, which are then inputs of
            the network.
        confidence: Confidence that the tolerance also holds in the population.
        cv: Number of folds, or a splitter, if there is a tolerance.
        epochs: Largest number of passes over the rows.
        batch_size: Rows per batch; by default 1024, or a twentieth of the rows, but at
            least 32.
        learning_rate: Of Adam.
        warm_up: Epochs before the fairret counts; by default a fifth of `epochs`.
        memory: Number of past rows that the fairret remembers, so that small batches
            suffice; 0 for none. By default 4096, or half of the rows if that is less.
        early_stopping: Whether to keep the epoch that is best on validation rows.
        validation_fraction: Share of the rows for it.
        patience: Stop after so many epochs without an improvement; None to go on.
        warm_start: Whether `fit` starts from the network of the last fit.
        device: Where to train, such as "cuda". A fitted network is on the CPU.
        verbose: Whether to show the progress.
        pos_label: The label that is a yes; by default the larger one.
        random_state: Seed of initial weights, validation rows, folds and batches.

    Attributes:
        classes_: The two labels.
        network_: The trained network.
        networks_: All networks: one per fold, with a tolerance.
        history_: Per network and epoch, the mean loss, the mean fairret and the loss of
            the validation rows; a list of mappings, ready for a data frame.
        loss_curve_: Mean loss per epoch of the first network.
        n_iter_: Number of its epochs.
        status_: With a tolerance: "met" or "missed", out of fold.
        groups_: With a tolerance: every group under every notion.
        certificate_: With a tolerance: bounds for the population.
        solution_: With a tolerance: the rule; not in a saved classifier.
        tradeoff_: With a tolerance: what others would cost; not in a saved classifier.
        audit_: With a tolerance: decisions without and with the rule, audited out of
            fold; not in a saved classifier.
        report_: With a tolerance: what was reached, in words.
        encoder_: Encodes the traits.
        n_features_in_: Number of features.
        feature_names_in_: Their names, if `X` had some.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.choice(["f", "m"], 2000)
        >>> X = rng.normal(size=(2000, 3)) + 0.5 * (sex == "m")[:, None]
        >>> y = np.where(X.sum(1) + rng.normal(size=2000) > 1, "yes", "no")
        >>> classifier = FairretClassifier(strength=10, epochs=5, random_state=0)
        >>> classifier.fit(X, y, sensitive_features=sex).predict(X[:3]).shape
        (3,)
    """

    models_: NetworkModels
    threshold = 0.5
    min_rate = BAND
    min_size = MIN_SIZE
    adapt = True

    __metadata_request__partial_fit = {"sensitive_features": True}  # noqa: RUF012

    def __init__(
        self,
        module: Module | None = None,
        loss: str | FairnessLoss = "kl",
        notion: LinearFractionalStatistic | str | Iterable[str] = "demographic_parity",
        *,
        strength: float | None = None,
        max_violation: float | Mapping[str, float] | None = None,
        max_difference: float | None = None,
        min_ratio: float | None = None,
        sensitive: TraitLike | Iterable[TraitLike] | None = None,
        informed: bool = False,
        confidence: float | None = None,
        cv: Any = 3,
        epochs: int = 100,
        batch_size: int | None = None,
        learning_rate: float = 1e-3,
        warm_up: int | None = None,
        memory: int | None = None,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        patience: int | None = 10,
        warm_start: bool = False,
        device: str | torch.device = "cpu",
        verbose: bool = False,
        pos_label: object = None,
        random_state: Any = None,
    ) -> None:
        self.module = module
        self.loss = loss
        self.notion = notion
        self.strength = strength
        self.max_violation = max_violation
        self.max_difference = max_difference
        self.min_ratio = min_ratio
        self.sensitive = sensitive
        self.informed = informed
        self.confidence = confidence
        self.cv = cv
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.warm_up = warm_up
        self.memory = memory
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.warm_start = warm_start
        self.device = device
        self.verbose = verbose
        self.pos_label = pos_label
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> FairretClassifier:
        """Train the network and, with a tolerance, fit the rule.

        Args:
            X: Features: a data frame or an array.
            y: Labels of two classes.
            sensitive_features: Sensitive traits: a data frame, a mapping from names to
                columns, or one column. Missing values are allowed.
            sample_weight: Weights of rows.

        Raises:
            ValueError: If the data or the options are invalid, or no decisions can keep
                the tolerance. The classifier is then as it was before.
            TypeError: If an argument is missing, or has the wrong type.
            DivergedError: If the loss becomes NaN or infinite.
        """
        check_bool("informed", self.informed)
        further = self._goes_on()
        recipe = self._recipe()
        given = sensitive_features, sample_weight
        data = self._read_fit(X, y, *given, further=further)
        in_features = sensitive_features is None
        traits = self.informed and not in_features
        seed = self._seed()
        if self._has_tolerance():
            setting = self._setting()
            folds = deal_folds(self.cv, data.X, data.labels.given, seed)
            fitted = fit_folds(
                recipe, data, folds, seed, informed=self.informed, traits=traits
            )
            self._fit_rule(setting, data, fitted, in_features)
            return self
        earlier = self.models_ if further else None
        models = fit_alone(recipe, data, seed, traits=traits, earlier=earlier)
        self._store_alone(data, in_features, models)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
    ) -> FairretClassifier:
        """Train for one epoch on some rows, without warm-up and early stopping.

        The first call learns the categories and scales of the features, and the groups:
        later rows of other groups count in no group.

        Args:
            X: Features, as in :meth:`fit`.
            y: Labels.
            classes: The two labels; needed in the first call if `y` has only one.
            sensitive_features: Sensitive traits, as in :meth:`fit`.
            sample_weight: Weights of rows.

        Raises:
            ValueError: As in :meth:`fit`.
            TypeError: As in :meth:`fit`.
        """
        if self._has_tolerance():
            raise ParameterError(
                "`partial_fit` has no tolerance, because a rule needs all rows at "
                "once: use `fit`, or leave `max_violation`, `max_difference` and "
                "`min_ratio` out."
            )
        further = hasattr(self, "models_")
        recipe = self._recipe()
        make_term = recipe.term
        recipe = recipe._replace(
            term=lambda rows: make_term(MANY),  # there are more to come
            epochs=1,
            warm_up=0,
            validation=0.0,
        )
        known = None if classes is None else np.unique(classes)
        data = self._read_fit(
            X, y, sensitive_features, sample_weight, further=further, classes=known
        )
        in_features = sensitive_features is None
        models = fit_alone(
            recipe,
            data,
            self._seed(),
            traits=self.informed and not in_features,
            earlier=self.models_ if further else None,
        )
        self._store_alone(data, in_features, models)
        return self

    @property
    def networks_(self) -> list[nn.Module]:
        """The trained networks: one, or one per fold with a tolerance."""
        check_is_fitted(self)
        return self.models_.networks

    @property
    def network_(self) -> nn.Module:
        """The trained network; with a tolerance, that of the first fold."""
        return self.networks_[0]

    @property
    def history_(self) -> list[dict[str, float]]:
        """The course of the training, per network and epoch."""
        check_is_fitted(self)
        return [
            {"network": k, **epoch}
            for k, own in enumerate(self.models_.trained)
            for epoch in own.history
        ]

    @property
    def loss_curve_(self) -> list[float]:
        """Mean loss per epoch of the first network."""
        return [row["loss"] for row in self.history_ if row["network"] == 0]

    @property
    def n_iter_(self) -> int:
        """Number of epochs of the first network."""
        return len(self.loss_curve_)

    def _store_alone(self, data: Any, in_features: bool, models: NetworkModels) -> None:
        """Store a network whose scores decide at ½."""
        rule = LinearRule(self.threshold, 0.0, np.zeros(1), np.zeros(1))
        self._store(
            data, in_features, models_=models, rule_=rule, _rows=None, _stated=None
        )

    def _seed(self) -> int:
        random = check_random_state(self.random_state)
        return int(random.randint(np.iinfo(np.int32).max // 2))

    def _has_tolerance(self) -> bool:
        given = self.max_violation, self.max_difference, self.min_ratio
        return any(x is not None for x in given)

    def _strength(self) -> float:
        """The factor of the fairret."""
        if self.strength is not None:
            return check_number("strength", self.strength, 0, math.inf)
        if self._has_tolerance():
            return 0.0
        term = self._term(1)
        return next(own for kind, own in STRENGTHS.items() if isinstance(term, kind))

    def _term(self, rows: int) -> FairnessLoss:
        """Make the fairret for a number of rows."""
        statistic = find_notion(self.notion)
        if isinstance(self.loss, FairnessLoss):
            own, wanted = get_name(self.loss.statistic), get_name(statistic)
            if own != wanted:
                raise ParameterError(
                    f"`loss` and `notion` must agree; got a loss for {own!r} and the "
                    f"notion {wanted!r}. Pass `notion={own!r}` too."
                )
            return deepcopy(self.loss)
        if not isinstance(self.loss, str):
            raise ParameterError(
                "`loss` must be a name or an object of `fairret.loss`; got "
                f"{type(self.loss).__name__}."
            )
        memory = min(MEMORY, rows // 2) if self.memory is None else self.memory
        try:
            return make_loss(self.loss, statistic, memory=memory)
        except NameNotFoundError as error:
            raise ParameterError(f"`loss`: {error}") from None

    def _recipe(self) -> Recipe:
        """Read the options of the training."""
        rate = check_number(
            "learning_rate", self.learning_rate, 0, math.inf, above=True
        )
        epochs = check_count("epochs", self.epochs, 1)
        for name, least in LEAST.items():
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least)
        share = 0.0
        if self.early_stopping:
            given = self.validation_fraction
            share = check_number("validation_fraction", given, 0, 1, above=True)
        if self.confidence is not None and not self._has_tolerance():
            raise ParameterError(
                f"`confidence` is that of a tolerance; got {self.confidence!r} without "
                "one. Pass `max_violation`, `max_difference` or `min_ratio` too."
            )
        self._term(1)  # so that a wrong name is an error now
        strength = self._strength()
        return Recipe(
            self.module,
            self._term if strength else lambda rows: None,
            strength,
            epochs,
            self._warm_up(),
            self.batch_size,
            rate,
            share,
            self.patience,
            find_device(self.device),
            bool(self.verbose),
        )

    def _warm_up(self) -> int:
        """How many epochs the fairret does not count."""
        if not self._strength() or self._goes_on():
            return 0
        if self.warm_up is None:
            return int(WARM_UP * self.epochs)
        if self.warm_up >= self.epochs:
            raise ParameterError(
                f"`warm_up` must be less than `epochs`, {self.epochs}, so that the "
                f"fairret counts; got {self.warm_up}."
            )
        return self.warm_up

    def _goes_on(self) -> bool:
        """Whether `fit` starts from the last network."""
        further = self.warm_start and hasattr(self, "models_")
        if further and self._has_tolerance():
            raise ParameterError(
                "`warm_start` and a tolerance exclude each other: the rule needs rows "
                "that its network has not seen. Use `set_tolerance` for another "
                "tolerance."
            )
        return further

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

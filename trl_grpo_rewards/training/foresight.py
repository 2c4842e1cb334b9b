"""Predicts pass rates of prompts that were never sampled, from given pass rates and the results of other prompts."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from ..errors import CheckpointMismatch
from ..records.beta import fit_beta
from .pass_rate_model import PassRateModel
from .prompt_features import BIAS, GIVEN, LACKING, PRIOR_NAME, PromptFeatures


POOL, FROM_GIVEN, FROM_FEATURES = "pool", "given", "features"
"""Kinds of models: one distribution of pass rates for all prompts, a regression on the given pass rates, and a
regression on the given pass rates and all features."""

BIAS_VARIANCE, GIVEN_VARIANCE = 2.0, 0.25
"""Prior variances of weights. The weight of given pass rates has the prior mean 1, and all others have 0."""

FEATURES_VARIANCE = 2.5
"""Prior variance of the sum of a prompt's other weights."""

PROGRESS = (0.0005, 0.005)
"""Assumptions about how fast the trained model learns. There is one version of each kind of model for each value."""

MARGIN, FIRST_CREDIT = 5.0, 8.0
"""Log-likelihood ratio by which a model must predict better than a simpler one to be used, and the head start of
models that use given pass rates."""

MODEL_ATTRIBUTES = ("weights", "covariance", "evidence")
"""The attributes of a model that are saved in a checkpoint."""

INPUTS = "foresight_inputs"
"""The name of the checksum of what models learn from, in a checkpoint."""


class Foresight:
    """
    Predictors of the pass rates of prompts. A kind of model is used if recent groups of new prompts were clearly more likely
    under it than under a simpler one. Given pass rates are used from the start, and dropped when recent groups no longer
    clearly favour them.

    Args:
        features ([`PromptFeatures`]):
            The features of the prompts.
    """

    def __init__(self, features: PromptFeatures) -> None:
        self.features = features
        count, has_given = len(features.places), features.given is not None and not np.isnan(features.given).all()
        self.kinds = [POOL, *[FROM_GIVEN] * has_given, *[FROM_FEATURES] * bool(count)]
        self.models: dict[tuple[str, int], PassRateModel] = {}
        for kind in self.kinds:
            mean, variance = np.zeros(3 + count), np.zeros(3 + count)
            variance[BIAS] = BIAS_VARIANCE
            if kind != POOL and has_given:
                mean[GIVEN], variance[[GIVEN, LACKING]] = 1.0, (GIVEN_VARIANCE, BIAS_VARIANCE)
            if kind == FROM_FEATURES:
                variance[3:] = FEATURES_VARIANCE / max(1.0, features.mean_count)
            for speed, progress in enumerate(PROGRESS):
                self.models[kind, speed] = PassRateModel(mean, variance, progress)
                self.models[kind, speed].evidence += FIRST_CREDIT * (has_given and kind != POOL)
        self.columns = [None, *[PRIOR_NAME] * has_given, *features.columns]
        places = [self.columns.index(name) for name in features.names]
        self.places = np.array([0, has_given, has_given, *places])  # the place of its column, for each feature
        self.source, self.chosen = POOL, list[tuple[PassRateModel, float]]()
        self._choose()

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the arrays that are saved in a checkpoint."""
        return {INPUTS: np.array(self.features.compute_checksum())} | {
            f"{kind}_{speed}_{part}": getattr(model, part)
            for (kind, speed), model in self.models.items()
            for part in MODEL_ATTRIBUTES
        }

    def set_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """
        Restore the arrays of a checkpoint. A checkpoint of an earlier version has none.

        Raises:
            [`CheckpointMismatch`]: the arrays belong to other features or given pass rates.
        """
        if INPUTS in arrays:
            if arrays[INPUTS] != self.features.compute_checksum():
                raise CheckpointMismatch(
                    f"A checkpoint must be resumed with the same selective_prior and selective_columns, but what they give "
                    f"now differs from the checkpoint: {len(self.features.places)} features of the columns "
                    f"{self.features.columns}, {'no' if self.features.given is None else 'and'} given pass rates. Set the "
                    f"options of the run that wrote the checkpoint, and restore its columns or its table of pass rates."
                )
            for (kind, speed), model in self.models.items():
                for part in MODEL_ATTRIBUTES:
                    setattr(model, part, arrays[f"{kind}_{speed}_{part}"])
        self._choose()

    def _choose(self) -> None:
        """Choose the kind of model to predict with (`"pool"`, `"given"` or `"features"`), and weight its versions."""
        best = -np.inf
        for kind in self.kinds:
            models = [self.models[kind, speed] for speed in range(len(PROGRESS))]
            evidence = np.array([np.logaddexp.reduce(model.evidence) for model in models])
            total = float(np.logaddexp.reduce(evidence))
            if total > best + (0.0 if kind == POOL else MARGIN):
                self.source, best = kind, total
                self.chosen = list(zip(models, np.exp(evidence - total).tolist(), strict=True))

    def foresee(self, row: int, find_next: Callable[[], Iterable[int]] = tuple) -> tuple[float, float]:
        """
        Return the parameters of a beta distribution for a prompt's pass rate.

        `find_next` returns the prompts whose features are needed soon, so that they are read at the same time.
        """
        features = self.features.get(row, find_next)
        found = [(*model.predict(features), share) for model, share in self.chosen]
        return fit_beta(
            sum(mean * share for mean, _, share in found), sum(square * share for _, square, share in found)
        )

    def has_reasons(self, row: int, find_next: Callable[[], Iterable[int]] = tuple) -> bool:
        """Whether the model in use knows more about a prompt than about all prompts."""
        if self.source == POOL:
            return False
        features = self.features.get(row, find_next)
        return not features[LACKING] or bool(self.source == FROM_FEATURES and features[3:].any())

    def explain(self, row: int) -> dict[str, float]:
        """Return how much each column adds to the log-odds of a prompt's pass rate. Empty if nothing is known of it."""
        if not self.has_reasons(row):
            return {}
        features, sums = self.features.get(row), np.zeros(len(self.columns))
        for model, share in self.chosen:
            parts = share * model.weights * features[model.used]
            sums += np.bincount(self.places[model.used], parts, len(sums))
        return {name: value for name, value in zip(self.columns, sums.tolist(), strict=True) if name is not None}

    def learn(self, row: int, right: int, total: int, is_new: bool) -> None:
        """
        Learn from a group.

        Args:
            row (`int`):
                Index of the prompt.
            right (`int`):
                Number of right completions.
            total (`int`):
                Number of scored completions.
            is_new (`bool`):
                Whether the prompt had never been sampled. Only such prompts show how well a model predicts.
        """
        features = self.features.get(row)
        for model in self.models.values():
            model.learn(features, right, total, is_new)
        self._choose()

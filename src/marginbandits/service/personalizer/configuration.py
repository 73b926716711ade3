"""The service configuration: what a loop is set to, in Personalizer's names.

    rewardWaitTime          window            learningMode        mode
    defaultReward           default           logRetentionDays    retention_days; -1 is for ever
    rewardAggregation       aggregation       the others          kept as they are; they change nothing here
    explorationPercentage   exploration

`logMirrorSasUri` is a secret that nothing here has a use for: it is not kept.
"""

import math
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from marginbandits.service.personalizer.dialects import Dialect
from marginbandits.service.personalizer.faults import FaultError
from marginbandits.service.personalizer.kept import Fields
from marginbandits.service.personalizer.times import duration, moment, seconds
from marginbandits.service.records import Mode, Settings, Share

__all__ = ["Configuration", "configuration"]

SHORTEST, LONGEST = 5.0, 2 * 86400.0
RETRAIN = "Model retrain days must be between 0 and the number of log retention days."
_OURS = {"average": "mean"}
_THEIRS = {"mean": "average"}
_DEFAULTS: dict[str, Any] = {
    "modelExportFrequency": "PT5M",
    "logMirrorEnabled": False,
    "isAutoOptimizationEnabled": False,
}
_OF_2022: dict[str, Any] = {"modelRetrainDays": 0, "isInferenceExplainabilityEnabled": False}
_KEPT = {*_DEFAULTS, *_OF_2022, "autoOptimizationFrequency", "autoOptimizationStartDate"}


class Configuration(msgspec.Struct, frozen=True, rename="camel"):
    """What is put."""

    reward_wait_time: str
    default_reward: Annotated[float, Meta(ge=-1.0, le=1.0)]
    reward_aggregation: Literal["earliest", "sum", "average", "median", "min", "max"]
    exploration_percentage: Share
    model_export_frequency: str
    log_retention_days: Annotated[int, Meta(ge=-1, le=36500)]
    learning_mode: Mode | None = None
    model_retrain_days: int | None = None
    log_mirror_enabled: bool | None = None
    is_auto_optimization_enabled: bool | None = None
    auto_optimization_frequency: str | None = None
    auto_optimization_start_date: str | None = None
    is_inference_explainability_enabled: bool | None = None

    def fields(self) -> dict[str, Any]:
        """Those that are kept as they are."""
        given: dict[str, Any] = msgspec.to_builtins(self)
        return {name: value for name, value in given.items() if name in _KEPT and value is not None}

    def settings(self, before: Settings) -> dict[str, Any]:
        """What changes of the loop's; or why not."""
        window, days = seconds(self.reward_wait_time), self.log_retention_days
        seconds(self.model_export_frequency)
        if window > LONGEST:
            raise FaultError("InvalidRewardWaitTime")
        if window < SHORTEST:
            raise FaultError("InvalidRewardWaitTime", "Reward wait time should be five seconds or more.")
        if days != -1 and days < math.ceil(window / 86400 + 1):
            raise FaultError("InvalidLogRetentionDays")
        if self.model_retrain_days is not None and not 0 <= self.model_retrain_days <= (36500 if days == -1 else days):
            raise FaultError("InvalidServiceConfiguration", RETRAIN)
        changes: dict[str, Any] = {
            "window": window,
            "default": self.default_reward,
            "aggregation": _OURS.get(self.reward_aggregation, self.reward_aggregation),
            "exploration": self.exploration_percentage,
            "mode": self.learning_mode or before.mode,
            "retention_days": None if days == -1 else float(days),
        }
        rewarding = any(getattr(before, name) != changes[name] for name in ("window", "default", "aggregation"))
        if before.mode != changes["mode"] and rewarding:
            raise FaultError("InvalidLearningModeServiceConfiguration")
        return changes


def configuration(settings: Settings, kept: Fields, dialect: Dialect) -> dict[str, Any]:
    """As it is told in a dialect."""
    days = settings.retention_days
    fields = _DEFAULTS | _OF_2022 | kept.fields
    if dialect is not Dialect.V2022:
        fields = {name: value for name, value in fields.items() if name not in _OF_2022}
    told = fields | {
        "rewardWaitTime": duration(settings.window),
        "defaultReward": settings.default,
        "rewardAggregation": _THEIRS.get(settings.aggregation, settings.aggregation),
        "explorationPercentage": settings.exploration,
        "logRetentionDays": -1 if days is None else math.ceil(days),
        "learningMode": settings.mode,
    }
    if kept.edited is not None:
        told["lastConfigurationEditDate"] = moment(kept.edited)
    return told

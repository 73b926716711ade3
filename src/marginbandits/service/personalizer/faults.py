"""What Personalizer answers when it refuses: its codes, the statuses they come with, and its own messages.

Version 1.0 knows three codes and an inner one; there, the exact code is the inner one. The only code that comes with
409 is of ranks: a rank whose ids were used for another one has it. Of other operations that is a bad request.

>>> FaultError("EvaluationNotFound").status
404
"""

from typing import Any

from starlette.responses import Response

from marginbandits.service.door import RefusedError, json_answer
from marginbandits.service.personalizer.dialects import Dialect

__all__ = ["MESSAGES", "FaultError", "refusal"]

MESSAGES = {
    "BadRequest": "Request could not be understood by the server.",
    "InvalidServiceConfiguration": "Invalid service configuration.",
    "InvalidLearningModeServiceConfiguration": (
        "Updating defaultReward, rewardWaitTime and rewardAggregation when changing learning mode from Online to "
        "Apprentice mode and vice versa is not allowed. Make the mode change and then change the additional settings "
        "with an additional API call."
    ),
    "InvalidPolicyConfiguration": "Invalid policy configuration.",
    "InvalidPolicyContract": "Invalid policy contract.",
    "InvalidEvaluationContract": "Invalid evaluation contract.",
    "DuplicateCustomPolicyNames": "Custom policy names should be unique.",
    "NoLogsExistInDateRange": "No logs exist in date range.",
    "InvalidRewardRequest": "Invalid reward request.",
    "InvalidEventIdToActivate": "Invalid activate event request.",
    "InvalidRankRequest": "Invalid request.",
    "MissingAppId": "There are several loops: use a key that is for one of them.",
    "InvalidRewardWaitTime": "Reward wait time should be two days or less.",
    "InvalidLogRetentionDays": (
        "Log Retention Days must be -1 to store indefinitely or must be at least reward wait time plus 1 day "
        "(rounded up)"
    ),
    "InvalidMultiSlotApiAccess": (
        "Multi-slot feature is currently disabled. Please follow multi-slot Personalizer documentation to update your "
        "instance settings to enable multi-slot functionality."
    ),
    "PayloadSizeExceeded": "Exceeds maximum allowed payload size.",
    "InvalidApiAccess": "Api is currently disabled for the instance.",
    "ModelFileAccessDenied": "A model is made of the log, and none can be put in its place.",
    "ResourceNotFound": "Requested resource does not exist on the server.",
    "EvaluationNotFound": "Offline Evaluation not found.",
    "FeatureImportanceNotFound": "Feature importance not found.",
    "LearningSettingsNotFound": "Learning Settings not found in evaluation.",
    "LogsPropertiesNotFound": "Log properties not found.",
    "InternalServerError": "A generic error has occurred on the server.",
    "OperationNotAllowed": "This operation is not allowed at this time.",
    "401": (
        "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an "
        "active subscription and use a correct regional API endpoint for your resource."
    ),
}
_FORBIDDEN = {"InvalidApiAccess", "ModelFileAccessDenied"}
_BY_STATUS = {
    401: "401",
    403: "InvalidApiAccess",
    404: "ResourceNotFound",
    409: "ModelRankingError",
    413: "PayloadSizeExceeded",
    429: "429",
    500: "InternalServerError",
    503: "OperationNotAllowed",
}
_V1_0 = {401: "401", 404: "ResourceNotFound", 429: "429", 500: "InternalServerError", 503: "InternalServerError"}


class FaultError(RefusedError):
    """A refusal by its code; the message is that of the code, or another one."""

    def __init__(self, code: str, message: str | None = None) -> None:
        status = 403 if code in _FORBIDDEN else 404 if code.endswith("NotFound") else 400
        super().__init__(status, MESSAGES[code] if message is None else message)
        self.code = code


def refusal(error: RefusedError, code: str, dialect: Dialect) -> Response:
    """The answer to a request that is refused; `code` is what its operation calls a bad request."""
    status, message = error.status, error.message
    if isinstance(error, FaultError):
        code = error.code
    elif status in (401, 413, 500):
        code = _BY_STATUS[status]
        status, message = (400 if status == 413 else status), MESSAGES[code]
    elif status in (400, 503):
        code = _BY_STATUS.get(status, code)
        message = f"{MESSAGES[code]} {message}"
    elif status == 409 and code != "InvalidRankRequest":  # an id of a request that was used for something else
        status, message = 400, f"{MESSAGES[code]} {message}"
    else:
        code = _BY_STATUS.get(status, code)
    told: dict[str, Any] = {"code": code, "message": message}
    if dialect is Dialect.V1_0 and (outer := _V1_0.get(status, "BadRequest")) != code:
        told |= {"code": outer, "innerError": {"code": code}}
    return json_answer({"error": told}, status, {} if error.retry is None else {"Retry-After": str(error.retry)})

"""Evaluation of what learners did."""

from marginbandits.evaluation.regret import (
    Interval,
    best_action_regret,
    interval,
    linear_policy_losses,
    progressive_loss,
)

__all__ = ["Interval", "best_action_regret", "interval", "linear_policy_losses", "progressive_loss"]

"""Evaluation of what learners did."""

from marginbandits.evaluation.regret import Interval, best_action_regret, interval, progressive_loss

__all__ = ["Interval", "best_action_regret", "interval", "progressive_loss"]

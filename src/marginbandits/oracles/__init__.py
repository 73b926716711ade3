"""Weighted loss minimisers that learners call."""

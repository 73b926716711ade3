"""Peers beside marginbandits: one file for each, what they are given, how they are run, and the table."""

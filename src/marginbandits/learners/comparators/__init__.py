"""The systems that the paper compares with, each with its own paper's parameters."""

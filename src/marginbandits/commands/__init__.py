"""Commands that `cli` gathers, by what they are about."""

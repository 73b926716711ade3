"""Logs of past decisions: reading them in every format there is, checking them, writing them."""

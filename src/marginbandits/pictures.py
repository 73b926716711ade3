"""The one door to matplotlib (the extra `report`)."""

from typing import Any

__all__ = ["figure"]


def figure(width: float, height: float) -> Any:
    """An empty figure, so many inches large; `savefig` writes `.png`, `.svg` or `.pdf`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "marginbandits[report]"') from error
    return Figure(figsize=(width, height), layout="constrained", dpi=120)

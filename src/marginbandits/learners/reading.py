"""What users hand in as contexts, as rows: numbers of any layout (`contexts`), or names and values, by a `Table`.

A mapping is one context; a list of mappings has one for each action, as a matrix has rows. Where several contexts are
wanted, mappings are contexts, and so are the rows of a data frame whose columns are not all numbers.

Where contexts are images, a learner says of what shape: an array of it is one context, its numbers one after the other,
and one with an axis more has an image for each action. The numbers of one, as a vector, are taken as well.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from marginbandits import frames
from marginbandits.contexts import Batch, Rows, Shape, read_many, read_numbers, read_one, refuse_width, several
from marginbandits.features import Given, Table
from marginbandits.learners.offers import INTERACTIONS, Offered

__all__ = ["Reader"]


class Reader:
    """Reads contexts for a learner with these features: by their table, if they are one, else by the usual one."""

    def __init__(self, features: Given, refusing: str = "") -> None:
        self.table = features if isinstance(features, Table) else Table(interactions=INTERACTIONS)
        self.declared = isinstance(features, Table)
        self.refusing = refusing  # the name of a learner that takes no names
        self.image: Sequence[int] | None = None  # the shape of a context that has more axes than one

    def one(self, context: Any, shape: Shape | None) -> tuple[Rows, bool]:
        """The rows of a context, checked, and whether there is one for each action."""
        if isinstance(context, Offered):
            return refuse_width(self._offered("context", context), True, shape), True
        if isinstance(context, np.ndarray) or scipy.sparse.issparse(context):
            return read_one(context if self.image is None else self._flat("context", context), shape)
        if isinstance(context, Mapping):
            return refuse_width(self._codes("context", [context]), False, shape), False
        if isinstance(context, list | tuple) and context and isinstance(context[0], Mapping):
            return refuse_width(self._rows("context", context), True, shape), True
        if frames.is_row(context):
            return self.one(dict(context.items()), shape)
        if context is None:
            raise ValueError("context must be numbers, or names and values ({} says nothing), got None")
        return read_one(context if self.image is None else self._flat("context", context), shape)

    def offers(self, offers: Sequence[Offered], shape: Shape | None) -> Batch:
        """All of these in one go; an error where one of them is refused does not say which."""
        self._refuse("contexts")
        rows = refuse_width(self.table._offered([one.said() for one in offers]), True, shape)
        starts = np.array([0, *itertools.accumulate([len(one.names) for one in offers])])
        return Batch(rows, True, starts, np.ones(len(rows), bool))

    def listed(self, contexts: Any) -> list[Any]:
        """Several contexts of names and values, one by one."""
        return several("contexts", frames.read_frame(contexts, named=True) if frames.is_frame(contexts) else contexts)

    def many(self, contexts: Any, shape: Shape | None) -> tuple[list[Rows], Rows | None, bool]:
        """The rows of contexts one by one, or (where each is one row) all rows at once; and the layout."""
        if frames.is_frame(contexts):
            named = self.declared if shape is None else shape.named
            contexts = frames.read_frame(contexts, named=named)
        first = contexts[0] if isinstance(contexts, list | tuple) and contexts else None
        if isinstance(first, Mapping):
            return [], refuse_width(self._rows("contexts", contexts), False, shape), False
        if isinstance(first, Offered):
            return [refuse_width(self._offered("contexts", one), True, shape) for one in contexts], None, True
        if isinstance(first, list | tuple) and first and isinstance(first[0], Mapping):
            each = [refuse_width(self._rows("contexts", one), True, shape) for one in contexts]
            return each, None, True
        return read_many(contexts if self.image is None else self._flat("contexts", contexts), shape)

    def _flat(self, name: str, values: Any) -> Any:
        """Images with all axes of each made one; what is as long stays as it is."""
        assert self.image is not None  # who calls this has looked
        image, size = tuple(self.image), math.prod(self.image)
        if scipy.sparse.issparse(values):
            raise ValueError(f"{name} must be {self._images(name)}, got sparse rows")
        x = read_numbers(name, values)
        if x.shape[-len(image) :] == image:
            return x.reshape(*x.shape[: -len(image)], size)
        if x.shape[-1:] == (size,) or not x.size:
            return x
        raise ValueError(f"{name} must be {self._images(name)}, or its {size} numbers, got shape {x.shape}")

    def _rows(self, name: str, contexts: Any) -> Rows:
        for position, one in enumerate(several(name, contexts)):
            if not isinstance(one, Mapping):
                raise ValueError(f"{name}[{position}] must be a mapping as the first is, got {type(one).__name__}")
        return self._codes(name, contexts)

    def _codes(self, name: str, contexts: Any) -> Rows:
        self._refuse(name)
        return self.table._codes(contexts)

    def _offered(self, name: str, one: Offered) -> Rows:
        self._refuse(name)
        return self.table._offered([one.said()])

    def _refuse(self, name: str) -> None:
        if self.refusing:
            raise ValueError(f"{name} of {self.refusing} must be numbers, got names and values")
        if self.image is not None:
            raise ValueError(f"{name} must be {self._images(name)}, got names and values")

    def _images(self, name: str) -> str:
        """What is wanted, in words."""
        return f"{'an image' if name == 'context' else 'images'} of shape {tuple(self.image or ())}"

"""Azure Personalizer's interface, in the three dialects that its clients speak, over the service's own calls.

    /personalizer/v1.0/…                                  Dialect.V1_0
    /personalizer/v1.1-preview.1/…, .2/…, .3/…            Dialect.V1_1
    /personalizer/…?api-version=2022-09-01-preview        Dialect.V2022

A thin translation, and the only room that knows of it: `routes` finds the operation, `operations` does it, the other
modules turn what Personalizer says into what the service says, and back. `docs/personalizer.md` says what is served.
"""

from marginbandits.service.personalizer.routes import Personalizer

__all__ = ["Personalizer"]

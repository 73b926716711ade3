"""The decision service: explore, log, join, learn, deploy, on one machine in one command.

    request ──► law (model) ──► draw ──► journal (on disk) ──► answer
                  ▲                         │
                  │ learn        join ◄─────┴──── rewards, activations
                  └───────────────┘   when the window closes, in the journal's own order

The model is a function of the journal and the code. Nothing below this room knows of it.
"""

__all__: list[str] = []

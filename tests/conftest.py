import os

# Two threads of linear algebra on problems of this size wait for each other: 40 times slower on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings  # numpy reads the above when it is first imported

# Fixed examples on every run and machine, no time limit per example (the first one compiles kernels).
settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("fixed")

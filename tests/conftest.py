import os

# Two workers on two cores: threads of linear algebra would only wait for each other. Before NumPy is imported.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

from hypothesis import settings

# Fixed examples on every run and machine, no time limit per example (the first one compiles kernels).
settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("fixed")

from hypothesis import settings

# Fixed examples on every run and machine, no time limit per example (the first one compiles kernels).
settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("fixed")

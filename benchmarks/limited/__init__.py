"""What `limits.py` measures: kernels, each in a loop, with its arithmetic and its bytes by formula."""

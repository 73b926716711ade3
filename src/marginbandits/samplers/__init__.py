"""Draws from exp(-potential): the posteriors that Hinge-LMC plays from."""

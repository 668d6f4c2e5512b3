"""Logistic regression that holds up under a Wasserstein ball of shifted tables."""

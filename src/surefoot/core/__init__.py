"""What every family needs: array types, sums with known rounding, outcomes and options of solvers, certificates."""

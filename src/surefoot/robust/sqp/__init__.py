"""The default solver: sequential quadratic programming on a finite maximum, and paths of it."""

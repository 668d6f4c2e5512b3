"""Many numeric columns: matrix-free Newton steps on an augmented Lagrangian."""

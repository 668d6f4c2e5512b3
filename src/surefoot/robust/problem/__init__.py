"""What is minimised: rows, prices and radius of a robust logistic regression. No iterations, no tolerances."""

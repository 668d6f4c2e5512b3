"""What is minimised: losses of observed decisions as functions of the cost. No iterations, no tolerances."""

"""What is minimised: margins of ellipsoids in feature space. No iterations, no tolerances."""

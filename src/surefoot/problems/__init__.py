"""What is minimised: frozen data and mathematics, no iterations, no tolerances, no I/O."""

"""What is minimised: the loss of a card under its rules. No iterations, no tolerances."""

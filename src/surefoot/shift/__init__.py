"""What may shift between today's table and tomorrow's: weights and a radius for fitting, perturbed tables for testing."""

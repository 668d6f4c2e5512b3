"""The scikit-learn face of inverse optimization. No mathematics here."""

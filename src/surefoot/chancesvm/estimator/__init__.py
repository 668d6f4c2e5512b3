"""The scikit-learn face of chance-constrained SVMs. No mathematics here."""

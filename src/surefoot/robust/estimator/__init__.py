"""The scikit-learn face of the robust family. No mathematics here."""

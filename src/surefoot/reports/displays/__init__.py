"""Pictures in the manner of scikit-learn; matplotlib is imported when one is drawn."""

"""What estimators of several families have in common: training rows, progress, warnings, and the binarizer."""

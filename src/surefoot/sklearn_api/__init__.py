"""What estimators of several families share: training rows, progress, warnings, and the binarizer."""

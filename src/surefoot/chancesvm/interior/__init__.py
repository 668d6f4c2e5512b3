"""The interior-point method for SVM duals over ellipsoids."""

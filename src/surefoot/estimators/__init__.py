"""The scikit-learn face: fit = encode, pose, solve, certify, unpack. No mathematics here."""

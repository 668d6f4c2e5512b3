"""The scikit-learn face of score cards, and the rules by column name. No mathematics here."""

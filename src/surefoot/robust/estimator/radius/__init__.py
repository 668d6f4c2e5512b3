"""The radius that follows from a table: by a rule, and by rows that are held out."""

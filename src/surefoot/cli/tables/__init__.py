"""What of a table goes to a model: its columns, its gaps, and how messages call its rows."""

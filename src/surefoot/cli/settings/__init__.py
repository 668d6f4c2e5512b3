"""Options of single models: what they mean, and for which model they are."""

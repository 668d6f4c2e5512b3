"""The exact search: branch and bound over supports, and what it leaves behind."""

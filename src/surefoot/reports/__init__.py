"""Read-only views for people, built from plain data: score cards and what belongs to them."""

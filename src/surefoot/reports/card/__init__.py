"""A score card as data, and its renderings."""

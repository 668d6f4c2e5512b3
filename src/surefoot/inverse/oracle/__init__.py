"""The forward problem solved, with and without a distance: the separation oracle of every approach."""

"""Foreign solvers, one file each: a programme type, a result type, and a complete map of statuses."""

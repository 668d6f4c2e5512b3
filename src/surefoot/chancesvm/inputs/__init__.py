"""What the inputs are: rows in groups, stacks and moments; their units, prices, gaps and few repeats."""

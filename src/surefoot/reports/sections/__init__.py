"""Parts of a report that stand beside the model: other models, groups of rows, and what guidelines ask for."""

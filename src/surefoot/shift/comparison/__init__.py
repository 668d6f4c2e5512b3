"""Two tables side by side: what shifted, how far, and what that did to a model."""

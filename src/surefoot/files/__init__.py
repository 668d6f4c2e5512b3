"""Models on their way to disk and back, and to programs in other languages."""

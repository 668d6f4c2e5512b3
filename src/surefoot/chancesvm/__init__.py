"""Kernel support vector machines for inputs that are themselves uncertain."""

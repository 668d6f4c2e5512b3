"""Simulators whose truth is known, and loaders of data the user has."""

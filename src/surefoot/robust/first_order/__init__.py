"""Operator splitting for numeric columns with a label price."""

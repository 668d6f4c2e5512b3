"""Rows in units that suit floating-point arithmetic, and the way back."""

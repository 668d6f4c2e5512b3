"""Slow oracles that are obviously right: plain enumeration, written without a look at the library's own algorithms."""

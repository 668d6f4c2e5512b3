"""Centres of the cone of consistent costs: its rays, and covers that bound it from outside."""

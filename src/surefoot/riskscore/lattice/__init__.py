"""The published cutting-plane methods, CPA and LCPA."""

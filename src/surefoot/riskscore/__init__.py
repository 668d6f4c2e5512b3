"""Score cards: few small whole points, provably the best."""

"""How well a learned cost explains an expert."""

"""How well a model will do on people whom it has not seen, and how far it depends on those whom it has."""

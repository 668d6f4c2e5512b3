"""Tables on their way out, in the library that they came in with."""

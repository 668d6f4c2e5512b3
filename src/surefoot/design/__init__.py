"""Tables in, numbers out: the only room that knows data frames."""

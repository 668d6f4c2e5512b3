"""What a command returns to the shell."""

DONE, BAD_INPUT, BAD_USAGE, NOT_WRITTEN, NOT_PROVEN, INTERRUPTED = 0, 1, 2, 3, 4, 130
# A proof that does not hold, for those who ask nothing else: the model or the rows are not what they should be.
NOT_VERIFIED = BAD_INPUT

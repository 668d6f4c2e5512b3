"""Tables on their way in: data frames, arrays, sparse matrices, files, batches and partitions become columns."""

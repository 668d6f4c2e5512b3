"""Tables in files, some columns and some rows at a time: text, compressed or not, JSON lines, workbooks, Parquet, Feather."""

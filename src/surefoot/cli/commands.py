"""The commands of the program, by name."""

# Each command, where its options are, and what it does.
COMMANDS = {
    "fit": ("fit", "Fit a model to a table and save it with its proof."),
    "score": ("score", "Predict the rows of a table with a saved model."),
    "stress": ("stress", "Measure a saved model on random shifts of a table."),
    "report": ("report", "Write one HTML file about a saved model and a table."),
    "explain": ("explain", "Show a saved model: its numbers and its proof."),
    "verify": ("verify_model", "Check the proof of a saved model from its training rows."),
    "compare": ("compare_tables", "Say what has shifted from one table to another, and how far."),
    "demo": ("demo", "Write a small table and run the other commands on it."),
    "completion": ("completion", "Print a script with which a shell completes commands and options."),
}

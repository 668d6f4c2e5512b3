"""How it is minimised: one file per algorithm, each declaring which problems it accepts."""

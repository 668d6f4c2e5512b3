"""The command line: ``surefoot fit``, ``score``, ``stress``, ``report``, ``explain`` and ``demo``."""

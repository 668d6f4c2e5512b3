"""Forward problems on graphs: paths, flows, matchings and spanning trees, and how they come from networkx."""

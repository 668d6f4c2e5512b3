"""Forward problems from models of other programs: cvxpy, Pyomo, files that HiGHS reads, and objects that solve."""

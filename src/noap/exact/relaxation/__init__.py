"""The convex relaxation in one parameter, the l1 norm of v: a bound in polynomial time (docs/relaxation.md)."""

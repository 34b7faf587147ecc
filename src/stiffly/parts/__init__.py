"""Forces and loads, one file each: what a System is the sum of."""

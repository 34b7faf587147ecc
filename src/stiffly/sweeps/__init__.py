"""Many runs of one scene: which values, on which machines, and the table of what came out."""

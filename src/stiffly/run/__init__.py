"""Moving a system through time: simulate, the loop over frames, step control, the books."""

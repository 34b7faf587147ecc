"""What moves, M a = f: bodies made of parts, or a user's own equations."""

"""Where tasks run: in this process, in warm worker processes on this machine."""

"""The client of a broker, for programs with a loop and without one."""

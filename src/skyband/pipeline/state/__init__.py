"""The state folder of a pipeline, and what is kept in it."""

"""Frames as bytes: a fixed header, a body of JSON, and one error for all that is neither."""

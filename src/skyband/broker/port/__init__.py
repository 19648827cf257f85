"""The port for clients: one JSON object in a line each way, and what each of them may ask for."""

"""HTTP: the routes of the server, how bodies are read and how problems are told."""

"""Push: steps on their way to whoever listens, over server-sent events or a WebSocket."""

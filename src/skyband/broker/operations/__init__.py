"""What people and machines watch a broker by: its health, and figures for Prometheus."""

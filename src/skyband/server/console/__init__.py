"""The console: pages of the server that show its streams as they move, in any browser and without another address."""

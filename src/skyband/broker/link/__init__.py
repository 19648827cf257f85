"""Links: how frames get from one broker to another; by TCP and TLS here, and by whatever else keeps to `Links`."""

"""Webhooks: steps sent to an address, signed, tried again for days, and kept where nobody took them."""

"""Access: who asks, what they may do, how much of it, and what is written down about it."""

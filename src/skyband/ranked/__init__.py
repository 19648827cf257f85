"""The ranked family: the best-scoring interval subscriptions for an event (the ranked publish/subscribe paper)."""

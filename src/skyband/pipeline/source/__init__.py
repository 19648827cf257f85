"""Sources: where a pipeline reads publications and subscriptions from."""

"""Who is let in at the port for clients: a token is compared by its hash, so that the chart holds no secret."""

import hashlib
import hmac

from skyband.broker.chart.network_chart import ClientAccess


def is_known(access: ClientAccess, token: object) -> bool:
    """Whether a token is one of those that are let in."""
    if not isinstance(token, str):
        return False
    digest = token_digest(token)
    return any(hmac.compare_digest(digest, known) for known in access.tokens.values())


def token_digest(token: str) -> str:
    """What a chart holds of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()

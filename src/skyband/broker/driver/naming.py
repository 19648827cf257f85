"""Publications and subscriptions as brokers name them among each other: by their broker and their id.

So no two clients at different brokers can mean the same name, and all names are texts, as engines take one kind of id.
"""

import json

from skyband.contract.tops import Id


def name_of(broker: str, id: Id) -> str:
    """The name of what a client at a broker calls by an id."""
    return f"{broker}/{json.dumps(id, ensure_ascii=False)}"


def id_in(name: Id) -> Id:
    """The id that its client has given it."""
    found: Id = json.loads(str(name).partition("/")[2])
    return found


def broker_in(name: Id) -> str:
    """The broker of that client."""
    return str(name).partition("/")[0]

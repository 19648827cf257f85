"""Opening what metadata and webhooks are kept in, as the configuration says."""

from importlib.util import find_spec

from skyband.server.config import BadServerConfig, ServerConfig
from skyband.server.store.database import Database, NoDatabase, SqliteDatabase


def open_database(config: ServerConfig, part: str, tables: str, version: int, alone: bool = False) -> Database:
    """The database of one part, such as `metadata`; `alone`, for one server at a time."""
    if config.database is None:
        # The folder is one server's already.
        return SqliteDatabase(config.data / f"{part}.sqlite", tables, version)
    if find_spec("psycopg") is None:
        raise BadServerConfig(
            "PostgreSQL needs the package psycopg: install it with `pip install 'skyband[postgres]'`."
        )
    from skyband.server.store.postgres import PostgresDatabase

    try:
        return PostgresDatabase(config.database, config.database_schema, part, tables, version, alone)
    except NoDatabase as error:
        raise BadServerConfig(str(error)) from None

"""An embedded durable log: what was appended is there, whole blocks only, whatever happens to writer or disk."""

from skyband.log.log import SCHEMA, Log, LogInUse, LogTruncated
from skyband.log.segment import Texts, UnreadableLog

__all__ = ["SCHEMA", "Log", "LogInUse", "LogTruncated", "Texts", "UnreadableLog"]

"""Routes of files that are the same for everybody: the module for browsers."""

from importlib.resources import files
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from skyband.server.http.health import OPEN

router = APIRouter(tags=["files"])
MODULE = "/static/skyband.js"


@router.get(MODULE, openapi_extra={"x-scope": OPEN})
async def module() -> Any:
    """The module for browsers. It has nothing of this server in it, so it is given to everybody."""
    text = files("skyband.server").joinpath("static", "skyband.js").read_bytes()
    return Response(text, media_type="text/javascript")

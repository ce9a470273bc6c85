"""Who gets in, and that each user sees only their own threads. `AGENT_USERS` has the users by their tokens, as JSON;
ask your identity provider in its place. A stranger's request is refused before its body is read."""

import hmac
import json
import os
from typing import Any

from langgraph_sdk import Auth

auth = Auth()
USERS: dict[str, str] = json.loads(os.environ["AGENT_USERS"])


@auth.authenticate
async def who(authorization: str | None) -> Auth.types.MinimalUserDict:
    """Returns the user of a request."""
    sent = (authorization or "").removeprefix("Bearer ").encode()
    for token, user in USERS.items():
        if token and hmac.compare_digest(sent, token.encode()):
            return {"identity": user}
    raise Auth.exceptions.HTTPException(status_code=401, detail="This server knows you by a token.")


@auth.on
async def own_threads(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> dict[str, str]:
    """Returns the filter of the threads that the user may use, and stamps it on new ones."""
    owner = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(owner)
    return owner

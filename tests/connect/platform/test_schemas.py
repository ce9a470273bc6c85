"""How long a platform's schemas are kept, and for which client."""

from langgraph_agui.connect.platform.source import EXPIRES_AFTER, SchemaCache
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient


def client(user: str) -> LangGraphClient:
    return get_client(url="http://platform.test", api_key=None, headers={"Authorization": user})


def test_schemas_are_kept_by_credentials_until_they_expire() -> None:
    now = 100.0
    cache = SchemaCache(lambda: now)
    cache.put(client("ann"), "a", {"graph_id": "g"})
    assert cache.get(client("ann"), "a") == {"graph_id": "g"}
    assert cache.get(client("ann"), "b") is None
    assert cache.get(client("bob"), "a") is None
    now += EXPIRES_AFTER
    assert cache.get(client("ann"), "a") is None


def test_as_many_are_kept_as_fit() -> None:
    cache, ann = SchemaCache(), client("ann")
    for number in range(2_000):
        cache.put(ann, str(number), {"number": number})
    kept = [number for number in range(2_000) if cache.get(ann, str(number)) is not None]
    assert kept == list(range(2_000 - len(kept), 2_000))
    assert 0 < len(kept) < 1_000

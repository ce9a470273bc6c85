"""The scripted chat model: what it costs beside its script."""

from langchain_core.load import dumpd
from langgraph_agui.connect.testing import ScriptedChatModel


def test_what_a_callback_is_given_of_a_model_is_short_however_long_its_script_is() -> None:
    model = ScriptedChatModel(turns=[["word "] * 6_000])
    assert len(str(dumpd(model))) < 1_000

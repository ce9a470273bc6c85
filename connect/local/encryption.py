"""Encryption of what a server keeps of threads outside of their checkpoints (run stores, the index of threads).

A checkpointer with LangGraph's `EncryptedSerializer` encrypts what it stores. What a server copies out of its threads,
such as the events of a run, is encrypted with the same cipher. As in LangGraph, metadata are not: they are searched.
"""

from __future__ import annotations

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

_SEALED = b"\0"
"""The first byte of encrypted data, and the one after the cipher's name. Neither JSON nor an SSE frame begins so."""


def cipher_of(saver: object) -> CipherProtocol | None:
    """The cipher of a checkpointer; None if it stores threads as they are."""
    serializer = saver.serde if isinstance(saver, BaseCheckpointSaver) else None
    return serializer.cipher if isinstance(serializer, EncryptedSerializer) else None


def seal(data: bytes, cipher: CipherProtocol | None) -> bytes:
    """Encrypts data; without a cipher, returns them as they are."""
    if cipher is None:
        return data
    name, encrypted = cipher.encrypt(data)
    return _SEALED + name.encode() + _SEALED + encrypted


def unseal(data: bytes, cipher: CipherProtocol | None) -> bytes:
    """Decrypts what `seal` returned. Data that are not encrypted are returned as they are: they may have been stored
    before the checkpointer had a cipher. Raises `SealedError` if there is no cipher, or a cipher that cannot decrypt
    them."""
    if not data.startswith(_SEALED):
        return data
    if cipher is None:
        raise SealedError("it is encrypted, and the graph's checkpointer has no EncryptedSerializer")
    name, encrypted = data[1:].split(_SEALED, 1)
    try:
        return cipher.decrypt(name.decode(), encrypted)
    except Exception as error:  # whatever a cipher raises
        raise SealedError("it cannot be decrypted: it was encrypted with another key or cipher") from error


class SealedError(Exception):
    """Data that this process cannot decrypt."""

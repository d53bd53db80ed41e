from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class ArchivePart(_message.Message):
    __slots__ = ("major", "minor", "token", "name", "size", "sha256", "offset", "content")
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    major: int
    minor: int
    token: str
    name: str
    size: int
    sha256: bytes
    offset: int
    content: bytes
    def __init__(self, major: _Optional[int] = ..., minor: _Optional[int] = ..., token: _Optional[str] = ..., name: _Optional[str] = ..., size: _Optional[int] = ..., sha256: _Optional[bytes] = ..., offset: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class ArchiveState(_message.Message):
    __slots__ = ("received", "submission", "image", "phase")
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    SUBMISSION_FIELD_NUMBER: _ClassVar[int]
    IMAGE_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    received: int
    submission: str
    image: str
    phase: str
    def __init__(self, received: _Optional[int] = ..., submission: _Optional[str] = ..., image: _Optional[str] = ..., phase: _Optional[str] = ...) -> None: ...

from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Role(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ROLE_UNSPECIFIED: _ClassVar[Role]
    ROLE_AGENT: _ClassVar[Role]
    ROLE_ENVIRONMENT: _ClassVar[Role]
    ROLE_EXPERIMENT: _ClassVar[Role]
ROLE_UNSPECIFIED: Role
ROLE_AGENT: Role
ROLE_ENVIRONMENT: Role
ROLE_EXPERIMENT: Role

class JoinRequest(_message.Message):
    __slots__ = ("major", "minor", "role", "token", "name", "client")
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    major: int
    minor: int
    role: Role
    token: str
    name: str
    client: str
    def __init__(self, major: _Optional[int] = ..., minor: _Optional[int] = ..., role: _Optional[_Union[Role, str]] = ..., token: _Optional[str] = ..., name: _Optional[str] = ..., client: _Optional[str] = ...) -> None: ...

class Ticket(_message.Message):
    __slots__ = ("session", "secret", "address", "tls_name", "unix_socket_path", "max_message_bytes", "reconnect_window_us")
    SESSION_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TLS_NAME_FIELD_NUMBER: _ClassVar[int]
    UNIX_SOCKET_PATH_FIELD_NUMBER: _ClassVar[int]
    MAX_MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECONNECT_WINDOW_US_FIELD_NUMBER: _ClassVar[int]
    session: str
    secret: bytes
    address: str
    tls_name: str
    unix_socket_path: str
    max_message_bytes: int
    reconnect_window_us: int
    def __init__(self, session: _Optional[str] = ..., secret: _Optional[bytes] = ..., address: _Optional[str] = ..., tls_name: _Optional[str] = ..., unix_socket_path: _Optional[str] = ..., max_message_bytes: _Optional[int] = ..., reconnect_window_us: _Optional[int] = ...) -> None: ...

class UnixSocketWelcome(_message.Message):
    __slots__ = ("code", "why", "proof")
    CODE_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    PROOF_FIELD_NUMBER: _ClassVar[int]
    code: int
    why: str
    proof: bytes
    def __init__(self, code: _Optional[int] = ..., why: _Optional[str] = ..., proof: _Optional[bytes] = ...) -> None: ...

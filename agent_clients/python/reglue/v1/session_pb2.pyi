from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_UNSPECIFIED: _ClassVar[Phase]
    PHASE_TRAIN: _ClassVar[Phase]
    PHASE_ADAPT: _ClassVar[Phase]
    PHASE_EVALUATE: _ClassVar[Phase]

class RefusalCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REFUSAL_CODE_UNSPECIFIED: _ClassVar[RefusalCode]
    REFUSAL_CODE_WRONG_SIZE: _ClassVar[RefusalCode]
    REFUSAL_CODE_NOT_FINITE: _ClassVar[RefusalCode]
    REFUSAL_CODE_OUT_OF_DOMAIN: _ClassVar[RefusalCode]
    REFUSAL_CODE_WRONG_KIND: _ClassVar[RefusalCode]
    REFUSAL_CODE_NOT_CAPABLE: _ClassVar[RefusalCode]
    REFUSAL_CODE_OUT_OF_ORDER: _ClassVar[RefusalCode]
    REFUSAL_CODE_UNKNOWN_KEY: _ClassVar[RefusalCode]
    REFUSAL_CODE_NOT_SUPPORTED: _ClassVar[RefusalCode]
PHASE_UNSPECIFIED: Phase
PHASE_TRAIN: Phase
PHASE_ADAPT: Phase
PHASE_EVALUATE: Phase
REFUSAL_CODE_UNSPECIFIED: RefusalCode
REFUSAL_CODE_WRONG_SIZE: RefusalCode
REFUSAL_CODE_NOT_FINITE: RefusalCode
REFUSAL_CODE_OUT_OF_DOMAIN: RefusalCode
REFUSAL_CODE_WRONG_KIND: RefusalCode
REFUSAL_CODE_NOT_CAPABLE: RefusalCode
REFUSAL_CODE_OUT_OF_ORDER: RefusalCode
REFUSAL_CODE_UNKNOWN_KEY: RefusalCode
REFUSAL_CODE_NOT_SUPPORTED: RefusalCode

class TextMessage(_message.Message):
    __slots__ = ("text",)
    TEXT_FIELD_NUMBER: _ClassVar[int]
    text: str
    def __init__(self, text: _Optional[str] = ...) -> None: ...

class Cleanup(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RoutineDone(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("of_seq", "code", "got", "wanted")
    OF_SEQ_FIELD_NUMBER: _ClassVar[int]
    CODE_FIELD_NUMBER: _ClassVar[int]
    GOT_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    of_seq: int
    code: RefusalCode
    got: str
    wanted: str
    def __init__(self, of_seq: _Optional[int] = ..., code: _Optional[_Union[RefusalCode, str]] = ..., got: _Optional[str] = ..., wanted: _Optional[str] = ...) -> None: ...

class Fault(_message.Message):
    __slots__ = ("what",)
    WHAT_FIELD_NUMBER: _ClassVar[int]
    what: str
    def __init__(self, what: _Optional[str] = ...) -> None: ...

class Farewell(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

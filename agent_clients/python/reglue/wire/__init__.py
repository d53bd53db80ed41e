"""Our values to protobuf messages and back; nothing else knows both."""

// Why a connection failed, if TLS is the reason: gRPC does not say it.
#pragma once

#include "net/join/join_string.h"
#include "net/streams/streams.h"

namespace reglue {

/// Tries a failed connection again without gRPC, up to the TLS handshake; sends nothing else, and
/// trusts nothing because of it. Throws WrongTls with the reason; returns if TLS is right, or if
/// nothing answers within `timeout`.
void throw_tls_trouble(const JoinString& join_string, Clock::duration timeout);

}  // namespace reglue

// Why a connection is not made, where TLS is the reason: gRPC itself does not say it.
#pragma once

#include "net/join_string.h"
#include "net/streams.h"

namespace reglue {

/// Tries a connection that failed again beside gRPC, as far as the TLS handshake; nothing else is
/// sent, and nothing is trusted for it. Throws WrongTls if it says what is wrong; returns where
/// nothing is, or nobody answers, or not within `timeout`.
void throw_tls_trouble(const JoinString& join_string, Clock::duration timeout);

}  // namespace reglue

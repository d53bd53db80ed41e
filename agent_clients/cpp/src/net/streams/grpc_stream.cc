#include "net/streams/grpc_stream.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <chrono>

#include "net/join/lobby.h"
#include "text.h"

namespace reglue {

namespace {

constexpr std::chrono::seconds kCancel{1};  // for a cancelled call to end

enum class Event : std::intptr_t { Started, Admitted, Written, Read, Finished };

void* tag(Event event) { return reinterpret_cast<void*>(event); }

grpc::ByteBuffer serialized(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.ByteSizeLong());
  static_cast<void>(
      message.SerializeWithCachedSizesToArray(const_cast<std::uint8_t*>(slice.begin())));
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

GrpcStream::GrpcStream(const Route& route, const google::protobuf::MessageLite& hello)
    : Stream(route.interrupt, route.outage), log_(route.log) {
  call_->channel = open_channel(route.where(), route.max_message_bytes());
  call_->context.AddMetadata("reglue-session", route.ticket.session());
  call_->stream =
      grpc::GenericStub(call_->channel).PrepareCall(&call_->context, route.method, &call_->queue);
  call_->stream->StartCall(tag(Event::Started));
  try {
    send(hello, Clock::now() + kWelcome);
  } catch (...) {
    shut_down();
    throw;
  }
}

GrpcStream::~GrpcStream() { shut_down(); }

void GrpcStream::shut_down() {
  call_->context.TryCancel();
  call_->queue.Shutdown();
  void* what = nullptr;
  bool is_good = false;
  const auto until = std::chrono::system_clock::now() + kCancel;
  grpc::CompletionQueue::NextStatus next;
  do {
    next = call_->queue.AsyncNext(&what, &is_good, until);
  } while (next == grpc::CompletionQueue::GOT_EVENT);
  // While the glue takes no bytes, a write ends only with the connection, which gRPC gives up
  // after half a minute. It uses the call until then, and nobody waits for that: it is not freed.
  if (next == grpc::CompletionQueue::TIMEOUT) static_cast<void>(call_.release());
}

void GrpcStream::send(const google::protobuf::MessageLite& message, const Deadline& until) {
  while (is_starting_ || is_writing_) {
    if (!turn(until)) throw_not_taken();
  }
  if (is_broken_) return;  // receive() throws why
  is_writing_ = true;
  call_->stream->Write(serialized(message), tag(Event::Written));
}

void GrpcStream::send_last(const google::protobuf::MessageLite& message, const Deadline& until) {
  send(message, until);
  while (is_writing_) {
    if (!turn(until)) return;
  }
  if (is_broken_) return;
  is_writing_ = true;
  call_->stream->WritesDone(tag(Event::Written));
  while (!is_finished_) {
    has_message_ = false;
    if (!read(until)) return;
  }
}

bool GrpcStream::receive(google::protobuf::MessageLite& message, const Deadline& until) {
  while (!has_message_) {
    if (is_finished_) throw_ended();
    if (!read(until)) return false;
  }
  has_message_ = false;
  grpc::ProtoBufferReader reader(&call_->in);
  google::protobuf::io::CodedInputStream bytes(&reader);
  const bool is_read = message.MergeFromCodedStream(&bytes) && bytes.ConsumedEntireMessage();
  if (!is_read) throw StreamEnded("the glue sent what this client cannot read: no message");
  return true;
}

bool GrpcStream::read(const Deadline& until) {
  if (!is_reading_ && !is_broken_ && has_headers_) {
    is_reading_ = true;
    call_->stream->Read(&call_->in, tag(Event::Read));
  }
  return turn(until);
}

bool GrpcStream::turn(const Deadline& until) {
  void* what = nullptr;
  bool is_good = false;
  while (true) {
    const Clock::time_point slice = Interrupt::slice(until);
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(slice - Clock::now());
    const auto deadline = std::chrono::system_clock::now() + left;
    if (call_->queue.AsyncNext(&what, &is_good, deadline) == grpc::CompletionQueue::GOT_EVENT)
      break;
    // Headers alone admit nobody: gRPC shows empty ones of a stream that was ended at once.
    if (is_reading_) opened();
    check_interrupt();
    if (until && Clock::now() >= *until) return false;
  }
  switch (static_cast<Event>(reinterpret_cast<std::intptr_t>(what))) {
    case Event::Started:
      is_starting_ = false;
      if (is_good) call_->stream->ReadInitialMetadata(tag(Event::Admitted));
      break;
    case Event::Admitted:
      has_headers_ = true;
      if (is_good) show_note();
      break;
    case Event::Written: is_writing_ = false; break;
    case Event::Read:
      is_reading_ = false;
      has_message_ = is_good;
      if (is_good) opened();
      break;
    case Event::Finished: is_finished_ = true; return true;
  }
  // A failed write is no end yet: earlier messages are still to be read.
  const bool is_over = !is_good && what != tag(Event::Written);
  if (is_over && !is_broken_) {
    is_broken_ = true;
    call_->stream->Finish(&call_->status, tag(Event::Finished));
  }
  return true;
}

void GrpcStream::show_note() const {
  const auto& headers = call_->context.GetServerInitialMetadata();
  const auto note = headers.find("reglue-note-bin");
  if (note != headers.end() && log_) {
    log_->warning(glue_text({note->second.data(), note->second.size()}));
  }
}

void GrpcStream::throw_ended() {
  if (call_->status.ok()) throw StreamEnded("the glue closed the session without a farewell");
  const StreamEnded end(call_->status.error_message(), call_->status.error_code());
  if (end.is_refusal()) throw end;
  throw StreamEnded("the glue went away: " + call_->status.error_message(),
                    call_->status.error_code());
}

}  // namespace reglue

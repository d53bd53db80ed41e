#include "net/grpc_stream.h"

#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include "net/lobby.h"
#include "text.h"

namespace reglue {

namespace {

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
    : Stream(route.interrupt, route.outage),
      log_(route.log),
      channel_(open_channel(route.where(), route.max_message_bytes())) {
  context_.AddMetadata("reglue-session", route.ticket.session());
  call_ = grpc::GenericStub(channel_).PrepareCall(&context_, route.method, &queue_);
  call_->StartCall(tag(Event::Started));
  try {
    send(hello);
  } catch (...) {
    shut_down();
    throw;
  }
}

GrpcStream::~GrpcStream() { shut_down(); }

void GrpcStream::shut_down() {
  context_.TryCancel();
  queue_.Shutdown();
  void* what = nullptr;
  bool is_good = false;
  while (queue_.Next(&what, &is_good)) {
  }
}

void GrpcStream::send(const google::protobuf::MessageLite& message) {
  while (is_starting_ || is_writing_) turn(std::nullopt);
  if (is_broken_) return;  // receive() throws why
  is_writing_ = true;
  call_->Write(serialized(message), tag(Event::Written));
}

bool GrpcStream::receive(google::protobuf::MessageLite& message, const Deadline& until) {
  while (!has_message_) {
    if (is_finished_) throw_ended();
    if (!is_reading_ && !is_broken_ && has_headers_) {
      is_reading_ = true;
      call_->Read(&in_, tag(Event::Read));
    }
    if (!turn(until)) return false;
  }
  has_message_ = false;
  grpc::ProtoBufferReader reader(&in_);
  google::protobuf::io::CodedInputStream bytes(&reader);
  const bool is_read = message.MergeFromCodedStream(&bytes) && bytes.ConsumedEntireMessage();
  if (!is_read) throw StreamEnded("the glue sent what this client cannot read: no message");
  return true;
}

bool GrpcStream::turn(const Deadline& until) {
  void* what = nullptr;
  bool is_good = false;
  while (true) {
    const Clock::time_point slice = Interrupt::slice(until);
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(slice - Clock::now());
    const auto deadline = std::chrono::system_clock::now() + left;
    if (queue_.AsyncNext(&what, &is_good, deadline) == grpc::CompletionQueue::GOT_EVENT) break;
    check_interrupt();
    if (until && Clock::now() >= *until) return false;
  }
  switch (static_cast<Event>(reinterpret_cast<std::intptr_t>(what))) {
    case Event::Started:
      is_starting_ = false;
      if (is_good) call_->ReadInitialMetadata(tag(Event::Admitted));
      break;
    case Event::Admitted:
      has_headers_ = true;
      opened();
      if (is_good) show_note();
      break;
    case Event::Written: is_writing_ = false; break;
    case Event::Read:
      is_reading_ = false;
      has_message_ = is_good;
      break;
    case Event::Finished: is_finished_ = true; return true;
  }
  // A failed write is no end yet: earlier messages are still to be read.
  const bool is_over = !is_good && what != tag(Event::Written);
  if (is_over && !is_broken_) {
    is_broken_ = true;
    call_->Finish(&status_, tag(Event::Finished));
  }
  return true;
}

void GrpcStream::show_note() const {
  const auto& headers = context_.GetServerInitialMetadata();
  const auto note = headers.find("reglue-note-bin");
  if (note != headers.end() && log_) {
    log_->warning(told({note->second.data(), note->second.size()}));
  }
}

void GrpcStream::throw_ended() {
  if (status_.ok()) throw StreamEnded("the glue closed the session without a farewell");
  const StreamEnded end(status_.error_message(), status_.error_code());
  if (end.is_refusal()) throw end;
  throw StreamEnded("the glue went away: " + status_.error_message(), status_.error_code());
}

}  // namespace reglue

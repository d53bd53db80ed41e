// A gRPC stream of any role: the calling thread does the work itself.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>

#include "net/streams/streams.h"

namespace reglue {

class GrpcStream : public Stream {
 public:
  /// Opens it where `route` says, and sends the hello.
  GrpcStream(const Route& route, const google::protobuf::MessageLite& hello);
  /// Ends it from this side.
  ~GrpcStream() override;
  GrpcStream(const GrpcStream&) = delete;
  GrpcStream& operator=(const GrpcStream&) = delete;

  void send(const google::protobuf::MessageLite& message, const Deadline& until) override;
  /// Ends the stream behind it: the glue ends it too once it has read that.
  void send_last(const google::protobuf::MessageLite& message, const Deadline& until) override;
  bool receive(google::protobuf::MessageLite& message, const Deadline& until) override;

 private:
  /// What gRPC uses until the call is over.
  struct Call {
    std::shared_ptr<grpc::Channel> channel;
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    grpc::ByteBuffer in;
    grpc::Status status;
  };

  /// Cancels the call, and frees it if that ends it.
  void shut_down();
  /// Asks for a message if it can, and handles one event; false if none came in time.
  bool read(const Deadline& until);
  /// Handles one event; false if none came in time.
  bool turn(const Deadline& until);
  [[noreturn]] void throw_ended();

  /// Logs what the glue has to say to people in its headers.
  void show_note() const;

  const Log* log_;
  std::unique_ptr<Call> call_ = std::make_unique<Call>();
  bool is_starting_ = true, has_headers_ = false, is_writing_ = false, is_reading_ = false;
  bool has_message_ = false, is_broken_ = false, is_finished_ = false;
};

}  // namespace reglue

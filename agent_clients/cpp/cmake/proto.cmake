# Generates the messages of the protocol, and compiles them once: `reglue_proto`.
# Its programs are those of the packages that the library is linked with, where they name them.
if(TARGET protobuf::protoc)
  set(protoc $<TARGET_FILE:protobuf::protoc>)
else()
  find_program(REGLUE_PROTOC protoc REQUIRED)
  set(protoc ${REGLUE_PROTOC})
endif()
if(TARGET gRPC::grpc_cpp_plugin)
  set(grpc_plugin $<TARGET_FILE:gRPC::grpc_cpp_plugin>)
else() # Debian's gRPC 1.51
  find_program(REGLUE_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
  set(grpc_plugin ${REGLUE_GRPC_PLUGIN})
endif()

set(REGLUE_PROTO_CODE ${CMAKE_CURRENT_BINARY_DIR}/proto)
set(code)
foreach(name spec session lobby agent environment experiment)
  set(proto reglue/v1/${name}.proto)
  set(made ${REGLUE_PROTO_CODE}/reglue/v1/${name})
  add_custom_command(
    OUTPUT ${made}.pb.cc ${made}.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${REGLUE_PROTO_CODE}
    COMMAND ${protoc} -I ${REGLUE_PROTO} --cpp_out ${REGLUE_PROTO_CODE} ${proto}
    DEPENDS ${REGLUE_PROTO}/${proto}
    VERBATIM)
  list(APPEND code ${made}.pb.cc)
endforeach()
# Only the lobby's routine is called by a stub; streams carry any message.
set(made ${REGLUE_PROTO_CODE}/reglue/v1/lobby)
add_custom_command(
  OUTPUT ${made}.grpc.pb.cc ${made}.grpc.pb.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${REGLUE_PROTO_CODE}
  COMMAND ${protoc} -I ${REGLUE_PROTO} --grpc_out ${REGLUE_PROTO_CODE}
    --plugin protoc-gen-grpc=${grpc_plugin} reglue/v1/lobby.proto
  DEPENDS ${REGLUE_PROTO}/reglue/v1/lobby.proto
  VERBATIM)
list(APPEND code ${made}.grpc.pb.cc)

add_library(reglue_proto OBJECT ${code})
set_target_properties(reglue_proto PROPERTIES UNITY_BUILD OFF) # each file has a `schemas` of its own
add_custom_target(reglue_proto_code DEPENDS ${code}) # not compiled, for `make tidy`
add_dependencies(reglue_proto reglue_proto_code)
target_compile_features(reglue_proto PUBLIC cxx_std_17)
target_include_directories(reglue_proto SYSTEM PUBLIC ${REGLUE_PROTO_CODE})
target_link_libraries(reglue_proto PUBLIC gRPC::grpc++ protobuf::libprotobuf)

// What ThreadSanitizer leaves out: it does not see how gRPC and protobuf, which are built without
// it, hand things from one thread to another.
extern "C" {

const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

/// gRPC's servers make a reactor in one thread and delete it in another.
const char* __tsan_default_suppressions() { return "race:CallbackBidiHandler"; }
}

# The shared library exports what its headers declare, and templates of the standard library.
execute_process(COMMAND ${nm} --dynamic --defined-only --demangle ${library}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]* (reglue|google|grpc|absl)::[^\n]*" named "${symbols}")
list(FILTER named EXCLUDE REGEX "^[0-9a-f]+ [A-Z] ([a-z]+ )*(std|__gnu_cxx)::")
set(public ${named})
list(FILTER public INCLUDE REGEX " reglue::AgentSession::next\\(")
set(inner ${named})
list(FILTER inner INCLUDE REGEX " (google|grpc|absl|reglue::v1|reglue::[A-Za-z]+::State)::|Stream::|Log::|Calls::")
if(NOT public OR inner)
  list(JOIN inner "\n" inner)
  message(FATAL_ERROR "got, beside what the headers declare:\n${inner}")
endif()

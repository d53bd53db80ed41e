# find_package(reglue_c): the target reglue::c, a shared library that needs nothing else.
include(${CMAKE_CURRENT_LIST_DIR}/reglue_c-targets.cmake)

# Headers, library, the CMake package `reglue` and pkg-config's `reglue++`.
get_target_property(library_type reglue TYPE)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/reglue)
install(TARGETS reglue EXPORT reglue)
install(DIRECTORY include/reglue TYPE INCLUDE)
install(EXPORT reglue NAMESPACE reglue:: DESTINATION ${package} FILE reglue-targets.cmake)
export(EXPORT reglue NAMESPACE reglue:: FILE reglue-targets.cmake) # reglue_DIR may be a build's
configure_package_config_file(cmake/reglue-config.cmake.in reglue-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(reglue-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reglue-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/reglue-config-version.cmake
  DESTINATION ${package})

file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(needs) # of a static library, which leaves them to its user
if(library_type STREQUAL STATIC_LIBRARY)
  set(needs "grpc++ protobuf openssl")
endif()
configure_file(cmake/reglue++.pc.in reglue++.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/reglue++.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

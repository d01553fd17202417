# The Debian package: `deploy/debian/make-package.sh` builds it. What only a package needs is the
# component `system`, so that `cmake --install` alone installs the two programs.
set(man ${PROJECT_BINARY_DIR}/man)
add_custom_target(man_pages
  COMMAND ${CMAKE_COMMAND} -E make_directory ${man}
  COMMAND ${PROJECT_SOURCE_DIR}/deploy/debian/man-pages.sh
          $<TARGET_FILE:attune-server> $<TARGET_FILE:attune> ${man}
  VERBATIM)

function(attune_system_files destination)
  install(${ARGN} DESTINATION ${destination} COMPONENT system EXCLUDE_FROM_ALL)
endfunction()
attune_system_files(share/man/man1 FILES ${man}/attune.1.gz)
attune_system_files(share/man/man8 FILES ${man}/attune-server.8.gz)
attune_system_files(lib/systemd/system FILES deploy/systemd/attune.service)
attune_system_files(/etc/default FILES deploy/debian/attune.default RENAME attune)
attune_system_files(share/attune PROGRAMS deploy/fetch-model.py)
attune_system_files(share/attune FILES deploy/all-MiniLM-L6-v2.sha256)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "attune maintainers <attune@example.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL Unspecified system)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3, python3-venv, ca-certificates")  # fetch-model.py
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/deploy/debian/conffiles
  ${PROJECT_SOURCE_DIR}/deploy/debian/postinst
  ${PROJECT_SOURCE_DIR}/deploy/debian/postrm
  ${PROJECT_SOURCE_DIR}/deploy/debian/prerm)
include(CPack)

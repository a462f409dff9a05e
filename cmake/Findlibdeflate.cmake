# Debian packages libdeflate with a pkg-config file only. Defines the imported target libdeflate::deflate.
find_path(libdeflate_INCLUDE_DIR NAMES libdeflate.h)
find_library(libdeflate_LIBRARY NAMES deflate)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libdeflate REQUIRED_VARS libdeflate_LIBRARY libdeflate_INCLUDE_DIR)

if(libdeflate_FOUND AND NOT TARGET libdeflate::deflate)
  add_library(libdeflate::deflate UNKNOWN IMPORTED)
  set_target_properties(libdeflate::deflate PROPERTIES
    IMPORTED_LOCATION "${libdeflate_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${libdeflate_INCLUDE_DIR}")
endif()

# Writes OUTPUT, the C++ source of attune::DashboardFiles(), with the bytes of FILES (separated by
# commas), so that the page is part of the program.
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(table "")
set(index 0)
foreach(file IN LISTS FILES)
  cmake_path(GET file FILENAME name)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  if(extension STREQUAL ".html")
    set(path "/")
    set(type "text/html; charset=utf-8")
  elseif(extension STREQUAL ".css")
    set(path "/${name}")
    set(type "text/css; charset=utf-8")
  else()
    set(path "/${name}")
    set(type "text/javascript; charset=utf-8")
  endif()
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND arrays "constexpr char kFile${index}[] = {${bytes}};\n")
  string(APPEND table
         "    {\"${path}\", \"${type}\", {kFile${index}, sizeof(kFile${index})}},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed_files.cmake.
#include \"server/http/dashboard.h\"

namespace attune {
namespace {

${arrays}
constexpr DashboardFile kFiles[] = {
${table}};

}  // namespace

absl::Span<const DashboardFile> DashboardFiles() { return kFiles; }

}  // namespace attune
")

# Writes OUTPUT, the C++ source of attune::cli::PageTemplate(): TEMPLATE with the style sheet STYLE and,
# as one script that only its own checksum lets run, the JavaScript MODULES (separated by commas, each
# after those it imports).
string(REPLACE "," ";" MODULES "${MODULES}")

# Each module becomes a function that returns what it exports.
set(script "'use strict';\n(() => {\nconst modules = {};\n")
foreach(file IN LISTS MODULES)
  cmake_path(GET file STEM name)
  file(READ ${file} code)
  string(REGEX REPLACE "import ({[^}]*}) from './([a-z]+)[.]js';" "const \\1 = modules.\\2;"
         code "\n${code}")
  set(kinds "async function|function|class|const")
  string(REGEX MATCHALL "\nexport (${kinds}) [A-Za-z]+" exports "${code}")
  string(REGEX REPLACE "\nexport (${kinds}) " "\n\\1 " code "${code}")
  if(code MATCHES "\n(import|export) |</script|<!--")
    message(FATAL_ERROR "${file} has \"${CMAKE_MATCH_0}\", which make_page.cmake cannot put into a page")
  endif()
  list(TRANSFORM exports REPLACE "^.* " "")
  list(JOIN exports ", " exports)
  string(APPEND script "modules.${name} = (() => {${code}return { ${exports} };\n})();\n")
endforeach()
string(APPEND script "})();\n")

# The checksum in base64, as a Content-Security-Policy has it: 32 bytes are ten groups of three and
# two more.
string(SHA256 digest "${script}")
set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
set(checksum "")
foreach(at RANGE 0 60 6)
  string(SUBSTRING "${digest}00" ${at} 6 group)
  foreach(shift 18 12 6 0)
    math(EXPR index "(0x${group} >> ${shift}) & 63")
    string(SUBSTRING ${alphabet} ${index} 1 letter)
    string(APPEND checksum ${letter})
  endforeach()
endforeach()
string(REGEX REPLACE "A$" "=" checksum ${checksum})

file(READ ${TEMPLATE} page)
file(READ ${STYLE} style)
string(REPLACE "{{style}}" "${style}" page "${page}")
string(REPLACE "{{script}}" "${script}" page "${page}")
string(REPLACE "{{script-sha256}}" "${checksum}" page "${page}")

file(WRITE ${OUTPUT}.html "${page}")
file(READ ${OUTPUT}.html hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
file(WRITE ${OUTPUT} "// Made by make_page.cmake.
#include \"client/cli/page_template.h\"

namespace attune::cli {
namespace {

constexpr char kPage[] = {${bytes}};

}  // namespace

absl::string_view PageTemplate() { return {kPage, sizeof(kPage)}; }

}  // namespace attune::cli
")

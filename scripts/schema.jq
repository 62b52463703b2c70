# SPDX-License-Identifier: Apache-2.0
# `lockstep schema KIND --format json` -> a section of docs/configuration.md. Keys that refer to another kind are not opened: that kind has
# its own section.
def cell: gsub("\\|"; "\\|") | gsub("\n"; " ");
def type_text:
  if .choices then .choices | map("`\(.name)`" + (if .doc == "" then "" else " (\(.doc))" end)) | join(", ")
  else .type + (if .reference then " of a [\(.reference)](#\(.reference))" else "" end) end;
def rows($path):
  .[] | ($path + .key) as $key
  | "| `\($key)` | \(type_text | cell) | \(if .required then "required" elif .default then "`\(.default)`" else "" end) | \(.range // "" | cell) | \(.doc | cell) |",
    (if .fields and (.reference | not) then .fields | rows($key + ".") else empty end);
"\n## \(.kind)\n\n\(.doc[0:1] | ascii_upcase)\(.doc[1:]).\n\n| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |",
(.fields | rows(""))

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Words shared by the scripts: where the tree is, how to fail, how to time a phase. Sourced, never run.

root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C

die() {
  printf '%s: error: %s\n' "${0##*/}" "$1" >&2
  exit "${2:-2}"
}

# The comment block below the SPDX line of the calling script is its help text.
usage() { awk 'NR > 2 && !/^#/ { exit } NR > 2 { sub(/^# ?/, ""); print }' "$0"; }

# Sets `lockstep` to the program to use: $LOCKSTEP, or the release build, or the one on PATH.
find_lockstep() {
  lockstep=${LOCKSTEP:-$root/build/release/lockstep}
  [[ -x $lockstep ]] || lockstep=$(command -v lockstep) ||
    die "no lockstep program: run scripts/quickstart, or set LOCKSTEP to the binary"
}

# section_packages SECTION: the packages of SECTION and of the sections above it, one a line.
section_packages() {
  awk -v want="$1" '
    /^# section:/ { if (found) exit; if ($3 == want) found = 1; next }
    /^[^#]/ { print $1 }
    END { if (!found) exit 1 }' "$root/scripts/packages.txt"
}

# Makes an empty folder, removed at exit, in which configs/, scripts/ and tests/data are reachable and `lockstep` is on PATH; moves there.
enter_sandbox() {
  if [[ -z ${sandbox:-} ]]; then
    find_lockstep
    lockstep=$(realpath "$lockstep")
  else
    rm -rf "$sandbox"
  fi
  sandbox=$(mktemp -d)
  trap 'rm -rf "$sandbox"' EXIT
  mkdir "$sandbox/bin" "$sandbox/tree" "$sandbox/tree/tests"
  ln -s "$lockstep" "$sandbox/bin/lockstep"
  ln -s "$root/configs" "$root/scripts" "$sandbox/tree/"
  ln -s "$root/tests/data" "$sandbox/tree/tests/data"
  export PATH="$sandbox/bin:$PATH" LOCKSTEP="$sandbox/bin/lockstep" HOME="$sandbox"
  cd "$sandbox/tree" || exit 2
}

# matches EXPECTED ACTUAL: whether a text is as expected. `...` in a line stands for any characters, alone on a line for any lines.
matches() {
  local line pattern='' escaped
  while IFS= read -r line; do
    if [[ $line == '...' ]]; then
      pattern+=$'(.*\n)?'
    else
      # First every special character becomes literal, then an escaped `...` any run of characters within the line.
      escaped=$(sed -e 's/[][\\.*^$+?(){}|]/\\&/g' -e 's/\\\.\\\.\\\./[^\n]*/g' <<< "$line")
      pattern+=$escaped$'\n'
    fi
  done < <([[ -n $1 ]] && printf '%s\n' "$1")
  local text=${2:+$2$'\n'}
  [[ $text =~ ^$pattern$ ]]
}

# write_section FILE NAME: replaces what stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->` in FILE by stdin.
write_section() {
  local file=$1 name=$2 body
  body=$(cat)
  grep -qF "<!-- begin: $name -->" "$file" || die "$file has no line '<!-- begin: $name -->'"
  BODY=$body awk -v name="$name" '
    $0 == "<!-- end: " name " -->" { skip = 0 }
    !skip { print }
    $0 == "<!-- begin: " name " -->" { skip = 1; print ENVIRON["BODY"] }' "$file" > "$file.new"
  mv "$file.new" "$file"
}

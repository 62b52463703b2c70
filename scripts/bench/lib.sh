# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Words shared by the benchmarks that run flow workloads: the peers, and how to time both sides. Sourced after scripts/lib.sh, never run.
# Uses $root, $lockstep and $work, an empty folder of the caller.
# shellcheck disable=SC2154

# compile_peer NAME [OPTION...]: builds scripts/bench/peers/NAME.cpp as $work/NAME.
compile_peer() {
  local name=$1
  shift
  "${CXX:-g++}" -O2 -std=c++17 -I "$root" "$root/scripts/bench/peers/$name.cpp" -o "$work/$name" "$@" 2> "$work/$name.log" && return
  tail -5 "$work/$name.log" >&2
  die "scripts/bench/peers/$name.cpp does not compile (scripts/install-packages full)"
}

# timed COMMAND...: its JSON on one line, with the CPU and wall seconds of the whole process added.
timed() {
  local TIMEFORMAT='[%U, %S, %R]'
  { time "$@" > "$work/timed.json"; } 2> "$work/timed.log" || { cat "$work/timed.log" >&2 && die "'${*:1:3} ...' failed" 1; }
  jq -c --argjson time "$(tail -n 1 "$work/timed.log")" '. + {process_cpu_s: ($time[0] + $time[1]), process_wall_s: $time[2]}' "$work/timed.json"
}

# run_traffic FLOWS HOSTS LATENCY: the flows in Lockstep, on bare hosts of the benchmark's leaf-spine.
run_traffic() {
  local latency=${3/us/ us}
  [[ $latency == 0 ]] && latency='0 ns'
  timed "$lockstep" traffic "$1" --cluster bench-leaf-spine --set "endpoints=$2" --set "host_link.latency=$latency" \
    --set "fabric_link.latency=$latency" --format json
}

# run_simgrid FLOWS HOSTS LATENCY OPTION: the same in SimGrid.
run_simgrid() {
  local latency=${3/us/e-6}
  "$work/simgrid_flows" "$1" "$2" "$latency" "$4"
}

# The machine, for the line above a table.
machine() { printf '%s, %s cores' "$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)"; }

# For jq: a time with two or three digits, decimal units of memory.
# shellcheck disable=SC2034 # used by those that source this
jq_words='def digits: if . >= 10 then (. * 10 | round / 10) elif . >= 1 then (. * 100 | round / 100) else (. * 1000 | round / 1000) end;
  def memory: if . >= 1e9 then "\(. / 1e7 | round / 100) GB" else "\(. / 1e6 | round) MB" end;'

# SPDX-License-Identifier: Apache-2.0
# The lines of scaling-table.jq -> a table for people (format table or md) or a CSV, then what it says in words.

function grouped(x,   s, out) {  # 12345.6 -> 12,346
  s = sprintf("%.0f", x)
  while (length(s) > 3) { out = "," substr(s, length(s) - 2) out; s = substr(s, 1, length(s) - 3) }
  return s out
}
function percent(x) { return x == "" ? "-" : sprintf("%.1f %%", 100 * x) }
function fixed(x, digits) { return x == "" ? "-" : sprintf("%." digits "f", x) }
function seconds(x) { return x == "" ? "-" : x < 1 ? sprintf("%.1f ms", 1000 * x) : sprintf("%.3f s", x) }
function quoted(s) { gsub(/"/, "\"\"", s); return "\"" s "\"" }
function cell(row, column, text) { table[row, column] = text; if (length(text) > width[column]) width[column] = length(text) }

BEGIN {
  columns = split("network|nodes|GPUs|step|tokens/s/GPU|MFU|speed-up|efficiency|exposed comm.|bubble|effective GPUs|$/M tokens", title, "|")
  for (c = 1; c <= columns; c++) cell(0, c, title[c])
  if (format == "csv")
    print "network,nodes,gpus,step_time_s,tokens_per_s_per_gpu,mfu,speedup,efficiency,exposed,bubble,effective_gpus,usd_per_million_tokens,state,note"
}
{ n = NR; network[n] = $1; nodes[n] = $2; gpus[n] = $3; speedup[n] = $7; efficiency[n] = $8; effective[n] = $11; state[n] = $13; note[n] = $14 }
format == "csv" {
  for (c = 1; c <= 13; c++) printf "%s,", $c
  print quoted($14)
  next
}
{
  cell(n, 1, $1); cell(n, 2, $2)
  if (state[n] == "error") next
  cell(n, 3, $3); cell(n, 4, state[n] == "ok" ? seconds($4) : "-")
  if (state[n] != "ok") next
  cell(n, 5, $5 == "" ? "-" : grouped($5)); cell(n, 6, percent($6)); cell(n, 7, $7 == "" ? "-" : fixed($7, 2) "x")
  cell(n, 8, percent($8)); cell(n, 9, percent($9)); cell(n, 10, percent($10)); cell(n, 11, fixed($11, 1)); cell(n, 12, fixed($12, 3))
}

function print_row(row,   c, line) {
  line = format == "md" ? "| " : ""
  for (c = 1; c <= columns; c++) {
    # A size without results says why instead of its numbers.
    if (row && c == 3 && state[row] == "error") return line "   cannot run: " note[row] (format == "md" ? " |" : "")
    if (row && c == 4 && state[row] == "no fit") return line "   does not fit: " note[row] (format == "md" ? " |" : "")
    line = line (c == 1 ? sprintf("%-" width[c] "s", table[row, c]) : sprintf("%" width[c] "s", table[row, c]))
    if (c < columns) line = line (format == "md" ? " | " : "  ")
  }
  return line (format == "md" ? " |" : "")
}

# From the yardstick to the next size that fits: what each network makes of it. Then where it turns: from the slowest network that keeps
# 95 % efficiency (or else the best) to the fastest that falls below 65 % (or else the worst), and what holds that one back.
function say_first_step(   i, first, second, worst, best, good, bad, line) {
  for (i = 1; i <= n; i++) {
    if (state[i] != "ok" || speedup[i] == "") continue
    rank[network[i]]++
    if (rank[network[i]] == 1 && !first) first = nodes[i]
    if (rank[network[i]] != 2) continue
    if (!second) second = nodes[i]
    if (nodes[i] != second) continue
    line = line (line ? ", " : "") sprintf("%.2fx over %s", speedup[i], network[i])
    if (!worst || speedup[i] + 0 < speedup[worst] + 0) worst = i
    if (!best || speedup[i] + 0 > speedup[best] + 0) best = i
    if (efficiency[i] >= 0.95 && (!good || speedup[i] + 0 < speedup[good] + 0)) good = i
    if (efficiency[i] < 0.65 && (!bad || speedup[i] + 0 > speedup[bad] + 0)) bad = i
  }
  if (!second) return
  if (!good) good = best
  if (!bad) bad = worst
  printf "From %d to %d nodes (%.3gx the GPUs) throughput grows %s.\n", first, second, second / first, line
  if (speedup[bad] < 0.95 * speedup[good])
    printf "%.1fx becomes %.1fx between %s and %s. On %s: %s.\n", speedup[good], speedup[bad], network[good], network[bad],
      network[bad], note[bad]
}
function say_slower(   i, line) {
  for (i = 1; i <= n; i++)
    if (state[i] == "ok" && speedup[i] != "" && speedup[i] < 1)
      line = line (line ? ", " : "") sprintf("%d nodes over %s", nodes[i], network[i])
  if (line) printf "Slower than the smallest size: %s.\n", line
}
function say_largest(   i, top, count, line) {
  for (i = 1; i <= n; i++) if (state[i] == "ok" && nodes[i] + 0 > top) top = nodes[i] + 0
  for (i = 1; i <= n; i++)
    if (state[i] == "ok" && nodes[i] + 0 == top && effective[i] != "") {
      count = gpus[i]
      line = line (line ? ", " : "") sprintf("%.0f over %s", effective[i], network[i])
    }
  if (line) printf "%d GPUs do the work of %s; on an ideal network they would do that of %d.\n", count, line, count
}

END {
  if (format == "csv") exit
  printf "%s, weak scaling\n\n", scenario
  print print_row(0)
  if (format == "md") { line = "|"; for (c = 1; c <= columns; c++) line = line (c == 1 ? " --- |" : " ---: |"); print line }
  for (i = 1; i <= n; i++) {
    if (i > 1 && network[i] != network[i - 1] && format == "table") print ""
    print print_row(i)
    if (state[i] == "ok") any = 1
  }
  print ""
  say_first_step()
  say_slower()
  say_largest()
  print "Speed-up and efficiency: against the smallest size of the same network that fits. Exposed comm.: share of the step in which a"
  print "GPU waits for data. Effective GPUs: how many would do this work on a network without cost."
  for (i = 1; i <= n; i++) if (state[i] == "ok" && efficiency[i] > 1.0005) above = 1
  if (above) print "Efficiency above 100 %: a larger size can have it easier, as when FSDP leaves each GPU fewer weights to update."
  exit !any
}

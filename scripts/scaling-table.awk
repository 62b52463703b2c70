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
{ n = NR; network[n] = $1; nodes[n] = $2; gpus[n] = $3; speedup[n] = $7; effective[n] = $11; state[n] = $13; note[n] = $14 }
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

# From the yardstick to the next size that fits: what each network makes of it, and what holds back the worst.
function say_first_step(   i, first, second, worst, best, line) {
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
  }
  if (!second) return
  printf "From %d to %d nodes (%.3gx the GPUs) throughput grows %s.\n", first, second, second / first, line
  if (speedup[worst] < 0.95 * speedup[best])
    printf "%.1fx becomes %.1fx between %s and %s. On %s: %s\n", speedup[best], speedup[worst], network[best], network[worst],
      network[worst], note[worst]
}
function say_largest(   i, top) {
  for (i = 1; i <= n; i++) if (state[i] == "ok" && nodes[i] + 0 > top) top = nodes[i] + 0
  for (i = 1; i <= n; i++)
    if (state[i] == "ok" && nodes[i] + 0 == top && effective[i] != "")
      printf "%d GPUs over %s do the work of %.0f on an ideal network.\n", gpus[i], network[i], effective[i]
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
  say_largest()
  print "Speed-up and efficiency: against the smallest size of the same network that fits. Exposed comm.: share of the step in which a"
  print "GPU waits for data. Effective GPUs: how many would do this work on a network without cost."
  exit !any
}

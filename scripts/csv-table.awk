# SPDX-License-Identifier: Apache-2.0
# What scripts/csv-table describes. SPECS: a column per line; PIVOT: the column whose values become columns, or empty; SPREAD: whether rows are joined.

# Fields of a CSV line into `field`; quoted ones may hold commas and doubled quotes.
function split_csv(line,   n, c, i, quoted, text) {
  n = 0; text = ""; quoted = 0
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    if (quoted) {
      if (c != "\"") text = text c
      else if (substr(line, i + 1, 1) == "\"") { text = text "\""; i++ }
      else quoted = 0
    } else if (c == "\"") quoted = 1
    else if (c == ",") { field[++n] = text; text = "" }
    else text = text c
  }
  field[++n] = text
  return n
}
function fail(message) { print "csv-table: error: " message > "/dev/stderr"; failed = 1; exit 1 }
function is_number(text) { return text ~ /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ }
function grouped(x,   s, out) {
  s = sprintf("%.0f", x)
  while (length(s) > 3) { out = "," substr(s, length(s) - 2) out; s = substr(s, 1, length(s) - 3) }
  return s out
}

# The value of an expression in the row that `field` holds; empty when a part of it is missing.
function value(expression,   parts, signs, n, i, part, result) {
  n = split(expression, parts, /[*\/]/)
  signs = expression
  gsub(/[^*\/]/, "", signs)
  for (i = 1; i <= n; i++) {
    part = parts[i]
    if (!is_number(part)) {
      if (!(part in at)) fail("there is no column '" part "'")
      part = field[at[part]]
      if (n == 1) return part
      if (!is_number(part)) return ""
    }
    if (i == 1) result = part + 0
    else if (substr(signs, i - 1, 1) == "*") result *= part
    else if (part == 0) return ""
    else result /= part
  }
  return result
}
function shown(x, how, base) {
  if (x == "") return "-"
  if (how == "text") return x
  if (how == "name") { sub(/.*\//, "", x); sub(/\.yaml$/, "", x); return x }
  if (!is_number(x)) return x
  if (how == ",") return grouped(x)
  if (how == "time") return x < 1e-3 ? sprintf("%.1f us", 1e6 * x) : x < 1 ? sprintf("%.1f ms", 1e3 * x) : sprintf("%.3f s", x)
  if (how ~ /^%/) return sprintf("%." substr(how, 2) + 0 "f %%", 100 * x)
  if (how ~ /^x/) return is_number(base) && base != 0 ? sprintf("%." substr(how, 2) + 0 "f", x / base) : "-"
  return sprintf("%." how + 0 "f", x)
}
function put(row, column, text) { cell[row, column] = text; if (length(text) > width[column]) width[column] = length(text) }

BEGIN {
  count = split(ENVIRON["SPECS"], specs, "\n")
  for (i = 1; i <= count; i++) {
    how[i] = "text"; expression[i] = specs[i]
    if (match(expression[i], /:[^:]*$/)) { how[i] = substr(expression[i], RSTART + 1); expression[i] = substr(expression[i], 1, RSTART - 1) }
    title[i] = expression[i]
    if (match(expression[i], /=/)) { title[i] = substr(expression[i], 1, RSTART - 1); expression[i] = substr(expression[i], RSTART + 1) }
    if (how[i] !~ /^(text|name|,|time|[0-9]|%[0-9]|x[0-9])$/) fail("'" how[i] "' is no format of " title[i])
  }
  pivot = ENVIRON["PIVOT"]
  spread = ENVIRON["SPREAD"] != ""
  keys = pivot == "" && !spread ? count : count - 1
  for (i = 1; i <= keys; i++) put(0, i, title[i])
}
NR == 1 {
  n = split_csv($0)
  for (i = 1; i <= n; i++) at[field[i]] = i
  if (pivot != "" && !(pivot in at)) fail("there is no column '" pivot "'")
  next
}
{
  n = split_csv($0)
  row_key = ""
  for (i = 1; i <= keys; i++) row_key = row_key SUBSEP value(expression[i])
  row = keys < count && (row_key in row_of) ? row_of[row_key] : ++rows
  row_of[row_key] = row
  for (i = 1; i <= keys; i++) {
    x = value(expression[i])
    if (row == 1 && !((1, i) in first)) first[1, i] = x
    put(row, i, shown(x, how[i], first[1, i]))
  }
  if (spread) {
    x = value(expression[count])
    if (is_number(x)) sample[row, ++samples[row]] = x + 0
  }
  if (pivot == "") next
  head = field[at[pivot]]
  if (!(head in column_of)) { column_of[head] = keys + ++heads; put(0, keys + heads, head) }
  x = value(expression[count])
  if (!(row in base)) base[row] = x
  if ((row, head) in last && last[row, head] != x) ++lost
  last[row, head] = x
  put(row, column_of[head], shown(x, how[count], base[row]))
}

# Samples of a row in ascending order; the least number that `share` of them do not exceed.
function sort_samples(row,   i, j, x) {
  for (i = 2; i <= samples[row]; i++) {
    x = sample[row, i]
    for (j = i - 1; j >= 1 && sample[row, j] > x; j--) sample[row, j + 1] = sample[row, j]
    sample[row, j + 1] = x
  }
}
function quantile(row, share,   rank) {
  rank = int(share * samples[row] + 0.999999)
  return samples[row] ? sample[row, rank < 1 ? 1 : rank] : ""
}
function put_spread(   row, c, names, shares) {
  heads = split("least|median|95 %|greatest", names, "|")
  split("0|0.5|0.95|1", shares, "|")
  for (row = 1; row <= rows; row++) {
    sort_samples(row)
    for (c = 1; c <= heads; c++) put(row, keys + c, shown(quantile(row, shares[c]), how[count], quantile(1, 0)))
    put(row, keys + heads + 1, samples[row] + 0)
  }
  for (c = 1; c <= heads; c++) put(0, keys + c, names[c])
  put(0, keys + ++heads, "rows")
}
function quoted(s) { if (s !~ /[",]/) return s; gsub(/"/, "\"\"", s); return "\"" s "\"" }
END {
  if (failed) exit 1
  if (lost) print "csv-table: warning: " lost " rows differ from the one before them in the same cell, which shows the last: name what tells them apart, as a column" > "/dev/stderr"
  if (spread) put_spread()
  columns = keys + heads
  for (row = 0; row <= rows; row++) {
    line = format == "md" ? "|" : ""
    for (c = 1; c <= columns; c++) {
      text = (row, c) in cell ? cell[row, c] : "-"
      is_left = c == 1 || (c <= keys && how[c] ~ /^(text|name)$/)
      if (format == "csv") line = line (c > 1 ? "," : "") quoted(text)
      else if (format == "md") line = line " " text " |"
      else line = line (c > 1 ? "  " : "") sprintf((is_left ? "%-" : "%") width[c] "s", text)
    }
    sub(/ +$/, "", line)
    print line
    if (row == 0 && format == "md") {
      line = "|"
      for (c = 1; c <= columns; c++) line = line (c == 1 || (c <= keys && how[c] ~ /^(text|name)$/) ? " --- |" : " ---: |")
      print line
    }
  }
}

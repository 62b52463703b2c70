# SPDX-License-Identifier: Apache-2.0
# Rows of `lockstep run --format json` (with network_name and nodes added) -> tab-separated raw numbers, one line per row:
# network nodes gpus step_s tokens_per_s_per_gpu mfu speedup efficiency exposed bubble effective_gpus usd_per_million state note
# speedup    tokens/s over that of the smallest size of the same network that fits (the yardstick)
# efficiency tokens/s per GPU over that of the yardstick
# exposed    share of the step a rank waits for communication: (tp + pp + dp + cp + ep) / step
def gib: . / 1073741824 | . * 10 | round / 10;
def number: if . == null then "" else tostring end;
def parts: to_entries | map(select(.key != "total" and .key != "capacity" and .value > 0)) | sort_by(-.value)
  | map("\(.key) \(.value | gib)") | join(", ");
def memory_note: "needs \(.total | gib) GiB per GPU, has \(.capacity | gib) (\(parts))";
group_by(.network_name) as $groups
| (map(.network_name) | reduce .[] as $n ([]; if index([$n]) then . else . + [$n] end)) as $order
| $order[] as $name
| ($groups[] | select(.[0].network_name == $name)) as $rows
| ($rows | map(select(.error == null and .fits != false)) | min_by(.nodes)) as $yardstick
| $rows[]
| if .error then [.network_name, .nodes, "", "", "", "", "", "", "", "", "", "", "error", .error]
  else
    [.network_name, .nodes, .gpus, .step_time_s, (.tokens_per_s_per_gpu | number), (.mfu | number)]
    + (if .fits == false or .tokens_per_s == null then ["", ""]
       else [.tokens_per_s / $yardstick.tokens_per_s, .tokens_per_s_per_gpu / $yardstick.tokens_per_s_per_gpu] end)
    + [(.breakdown_s | (.tp + .pp + .dp + .cp + .ep)) / .step_time_s, .breakdown_s.bubble / .step_time_s,
       (.effective_gpus | number), (.cost.usd_per_million_tokens | number)]
    + (if .fits == false then ["no fit", (.memory_bytes_per_gpu | memory_note)] else ["ok", .bottleneck] end)
  end
| map(tostring | gsub("[\t\n]"; " ")) | join("\t")

// SPDX-License-Identifier: Apache-2.0
// lockstep compare VERB ...: one verb run in several ways in this process, each side by the options common to all and its own.
#pragma once

#include <list>

#include "sim/cli/verb.h"
#include "sim/report/comparison/flat_result.h"

namespace lockstep::cli {

// Whether a first argument is a verb that compare can run.
[[nodiscard]] bool is_compared_verb(const std::string& word);

// --a, --b, --c and --d, and the options of those verbs, which their own --help explains.
void add_options_of_sides(Verb& compare);

// PRE: the first argument is no such verb. Throws UserError if there are options that only sides have.
void refuse_options_of_sides(const Arguments& arguments);

// The results of all sides in order. Warnings are printed once. Throws what the verb throws, after saying which side it was.
[[nodiscard]] std::list<FlatResult> run_sides(const VerbContext& context);

}  // namespace lockstep::cli

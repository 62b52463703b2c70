# SPDX-License-Identifier: Apache-2.0
# Checks that are scripts: tree rules, documentation blocks, command transcripts. They read the tree and the lockstep just built.
set(scripts ${CMAKE_SOURCE_DIR}/scripts)

function(lockstep_add_check name)
  cmake_parse_arguments(ARG "" "LABEL;TIMEOUT" "COMMAND" ${ARGN})
  add_test(NAME ${LOCKSTEP_TEST_PREFIX}check.${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${LOCKSTEP_TEST_PREFIX}check.${name} PROPERTIES
    LABELS ${ARG_LABEL} TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "LOCKSTEP=$<TARGET_FILE:lockstep>")
endfunction()

lockstep_add_check(includes LABEL fast TIMEOUT 30 COMMAND ${scripts}/check-includes)
lockstep_add_check(format LABEL fast TIMEOUT 60 COMMAND ${scripts}/format --check)
lockstep_add_check(shell LABEL fast TIMEOUT 60 COMMAND ${scripts}/check-shell)
lockstep_add_check(docs LABEL docs TIMEOUT 600 COMMAND ${scripts}/check-docs)
lockstep_add_check(docs.configuration LABEL docs TIMEOUT 60 COMMAND ${scripts}/generate-docs configuration --check)
lockstep_add_check(docs.studies LABEL docs TIMEOUT 600 COMMAND ${scripts}/studies --check)
lockstep_add_check(docs.validation LABEL slow TIMEOUT 600 COMMAND ${scripts}/generate-docs validation --check)
lockstep_add_check(slurm LABEL slow TIMEOUT 900 COMMAND ${scripts}/check-slurm)
lockstep_add_check(same-bytes LABEL cli TIMEOUT 300
                   COMMAND ${scripts}/check-same-bytes $<TARGET_FILE:lockstep> $<TARGET_FILE:lockstep>)

# Declarative transcripts: tests/cli/NAME.txt against lockstep, tests/scripts/NAME.txt against the scripts themselves.
foreach(folder cli scripts)
  file(GLOB transcripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.txt)
  foreach(transcript ${transcripts})
    get_filename_component(name ${transcript} NAME_WE)
    lockstep_add_check(${folder}.${name} LABEL cli TIMEOUT 300 COMMAND ${scripts}/run-transcript ${transcript})
  endforeach()
endforeach()

// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/document_kinds.h"

#include "sim/experiment/scenario.h"
#include "sim/experiment/sweep/sweep.h"
#include "sim/experiment/trace_spec.h"
#include "topology/cluster_spec.h"
#include "workloads/import/model_document.h"
#include "workloads/parallel/job.h"

namespace lockstep::cli {

namespace {

// Besides our own documents, the config.json of a Hugging Face model.
DocumentKind model_kind() {
  DocumentKind kind = document_kind("a transformer's geometry", &model_fields);
  kind.check = [](const Document& document, ReadContext& context) {
    TransformerSpec model;
    return read_model(document, model, context, {});
  };
  return kind;
}

// Warns of what a run would warn of.
DocumentKind scenario_kind() {
  DocumentKind kind = document_kind("a job on a cluster", &scenario_fields);
  kind.check = [](const Document& document, ReadContext& context) { return read_scenario(document, context).has_value(); };
  return kind;
}

// Its points are read too, as far as they can be wrong by themselves.
DocumentKind sweep_kind() {
  DocumentKind kind = document_kind("many runs: what varies, and how", &sweep_fields);
  kind.check = [](const Document& document, ReadContext& context) {
    return Sweep::load(document.clone(), {}, context).has_value();
  };
  return kind;
}

}  // namespace

std::vector<DocumentKind> document_kinds() {
  return {
      document_kind("where a job runs: servers, network, fabric, price", &cluster_fields),
      document_kind("what runs: model, batch, parallel plan", &job_fields),
      model_kind(),
      scenario_kind(),
      sweep_kind(),
      document_kind("a recorded run to replay", &trace_fields),
      document_kind("a server: GPUs and how they are wired", &server_fields),
      document_kind("a GPU: peaks, memory, NVLink, efficiency", &gpu_fields),
      document_kind("a transport with its NICs", &network_fields),
      document_kind("constants of a collective library", &tuning_fields),
      document_kind("what releases of training software bring", &software_fields),
  };
}

}  // namespace lockstep::cli

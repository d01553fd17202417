#include "client/cli/provenance_json.h"

namespace attune::cli {

Json ProvenanceToJson(const v1::Provenance& provenance) {
  Json json = {{"model", provenance.model()},
               {"model_revision", provenance.model_revision()},
               {"server_version", provenance.server_version()},
               {"compute_dtype", provenance.compute_dtype()},
               {"isa", provenance.isa()},
               {"onednn_version", provenance.onednn_version()},
               {"kernels", provenance.kernels()}};
  if (!provenance.input_sha256().empty()) json["input_sha256"] = provenance.input_sha256();
  return json;
}

}  // namespace attune::cli

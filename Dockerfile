# Pin by digest for a reproducible image: --build-arg BASE=debian:trixie-slim@sha256:...
ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
WORKDIR /src
COPY deploy/install-packages.sh deploy/
RUN deploy/install-packages.sh build test
COPY . .
ARG REVISION=unknown
RUN cmake --preset release -DATTUNE_BUILD_TESTS=OFF -DATTUNE_PRECOMPILED_HEADERS=ON \
      -DATTUNE_REVISION="${REVISION}" \
 && cmake --build --preset release --target attune-server attune \
 && cmake --install build/release --prefix /out --strip

# The runtime stage copies from here, so an image whose tests fail is not made.
FROM build AS test
RUN cmake --preset release -DATTUNE_BUILD_TESTS=ON \
 && cmake --build --preset release \
 && ctest --preset release --parallel "$(nproc)" --label-regex 'unit|fuzz_replay'

# --build-arg MODEL=default: the default model is in the image, instead of mounted.
FROM ${BASE} AS model
ARG MODEL=none
ARG HF_ENDPOINT=https://huggingface.co
WORKDIR /src
COPY deploy/install-packages.sh deploy/fetch-model.py deploy/all-MiniLM-L6-v2.sha256 deploy/
RUN case "${MODEL}" in \
      none) mkdir /models ;; \
      default) deploy/install-packages.sh fetch \
        && deploy/fetch-model.py --into /models/all-MiniLM-L6-v2 ;; \
      *) echo "MODEL is ${MODEL}; it must be none or default" >&2; exit 1 ;; \
    esac

FROM ${BASE} AS runtime
RUN --mount=type=bind,source=deploy,target=/deploy \
    /deploy/install-packages.sh runtime \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*
COPY --from=test /out/bin/ /usr/local/bin/
COPY --from=model /models/ /models/
ARG REVISION=unknown
ARG VERSION=unknown
LABEL org.opencontainers.image.title="attune" \
      org.opencontainers.image.description="Text to vectors, with attention maps, on CPUs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# What is in the image, for those who look for versions with known faults.
RUN --mount=type=bind,source=deploy,target=/deploy \
    mkdir -p /usr/local/share/doc/attune \
 && /deploy/sbom.sh "${VERSION}" > /usr/local/share/doc/attune/sbom.spdx.json
USER 65532:65532
# A model folder is mounted below /models, read-only, or is there. A container has no loopback that
# others reach, so it listens on every address; who may connect is for the one who publishes its
# ports to say, and ATTUNE_TLS_CERT and ATTUNE_TLS_KEY encrypt them.
ENV ATTUNE_MODEL=/models/all-MiniLM-L6-v2 \
    ATTUNE_INSECURE=true \
    ATTUNE_GRPC_ADDRESS=0.0.0.0:50051 \
    ATTUNE_HTTP_ADDRESS=0.0.0.0:8080 \
    ATTUNE_OPS_ADDRESS=0.0.0.0:9464
EXPOSE 50051 8080 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["attune", "health"]
ENTRYPOINT ["attune-server"]
